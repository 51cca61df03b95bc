"""What the name of a column says, in English, German, French, Spanish and Portuguese.

A name is taken apart into words without accents; the first line of `MEANINGS` that fits gives its meaning. Ages and
dates come before what they are the age or date of: `age_at_offence` is an age. A name is a hint, and what values say
may overrule it: `tax_filer` with Y and N names nobody.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from enum import StrEnum

from shoal.roles import Role


class Reads(StrEnum):
    """How values under such a name are usually meant."""

    NUMBER = "number"
    CODE = "code"  # of a system whose first characters say the most
    CATEGORY = "category"
    DATE = "date"
    ANYTHING = "anything"


@dataclass(frozen=True)
class Meaning:
    """What is behind a name: `what` in words, for the comment."""

    what: str
    role: Role
    reads: Reads = Reads.ANYTHING
    certain: bool = False  # identifies by its name alone, however few values there are


NAMES, KNOWN, SECRET = Role.IDENTIFIER, Role.QUASI_IDENTIFIER, Role.SENSITIVE
MEANINGS: list[tuple[Meaning, str]] = [
    (
        Meaning("contact data", NAMES, certain=True),
        r"e ?mail|courriel|correo|phone|telefon|telephone|telefono|\btel\b|\bmobile n|\bhandy|celular|"
        r"telemovel|\bmovil\b|\bfax\b|\burl\b|website|\bip( addr\w*)?$",
    ),
    (
        Meaning("an address", NAMES, certain=True),
        r"\baddress|\badress|strasse|\bstreet|hausn|\brue\b|\bcalle\b|\brua\b|endereco|direccion|\bmorada|domicil|"
        r"anschrift|"
        r"house n",
    ),
    (
        Meaning("a date", KNOWN, Reads.DATE),
        r"\bdates?\b|datum|\bfecha|\bdata (de )?(n|a|i|o|d)\w+|\btimestamp|\w+date$|\w+ (at|on)$",
    ),
    (
        Meaning("a year", KNOWN, Reads.NUMBER),
        r"\byear|\bjahr\b|\w+jahr$|\bannee|\bano (?!de estudo)|\banio|\bano$|\bjahrgang",
    ),
    (
        Meaning("a date of birth", KNOWN, Reads.DATE),
        r"\bdob\b|\bbirth ?(day|date)?$|\bborn\b|geburt(?!sort|sland)|naissance$|"
        r"^((dt|d|f|data|fecha|date) )?(nasc|nac|naiss|geb)$|\bnee? (le|en)\b|\bnacid|\bnascid",
    ),
    (
        Meaning("an age", KNOWN, Reads.NUMBER),
        r"\bages?\b|\balter\b|lebensalter|\bedad|\bidade|\w+ age$|how old|wie alt",
    ),
    (
        Meaning("a name", NAMES, certain=True),
        r"\b(sur|first|last|full|given|maiden|middle|nick|user|family)? ?names?$|"
        r"[a-z]names?\b|\bnames?\b|\bnom\b|\bnoms$|\bprenom|\bnombres?\b|apellido|"
        r"\bnome\b|sobrenome|\binitials|\blogin|\busername",
    ),
    (
        Meaning("a number that names a person", NAMES),
        r"\bssn|social sec|sozialvers|\bnir\b|\bdni\b|\bnie\b|\bnif\b|\bcpf\b|\bcns\b|\bpis\b|\brg\b|passport|"
        r"pasaporte|passeport|ausweis|\biban|\bmrn\b|medicare|medicaid|medical record|\bnhs n|versicherten|\bein$|"
        r"insurance (no|num|id|nr)|\bpolicy n|steuer ?(id|num)|\btin\b|\btax id",
    ),
    (
        Meaning("an account or a licence", NAMES),
        r"account|\bkonto|\bcuenta|\bconta\b|\bcompte|licen[cs]e|\bcard\b|\btarjeta",
    ),
    (
        Meaning("something that somebody owns", NAMES),
        r"\bplate\b|kennzeichen(?! )|\bvin\b|\bimei\b|\bmac\b|\bdevice|\bserial",
    ),
    (
        Meaning("a picture or signature", NAMES, certain=True),
        r"photo|\bfoto|signature|unterschrift|firma digital",
    ),
    (
        Meaning("free text", NAMES),
        r"comment|remark|bemerkung|kommentar|observa[ct]|remarque|freitext|narrative|free ?text|\bnotes$|memo\b",
    ),
    (
        Meaning("a job", KNOWN, Reads.CATEGORY),
        r"job|profession|profiss|\bmetier|\boficio|\bpuesto|\bberuf|beruf\b|occupat|ocupac|\bisco|\bcbo\b|\bpcs\b|"
        r"\bsoc\b|position$",
    ),
    (
        Meaning("an employment", KNOWN, Reads.CATEGORY),
        r"\bempl?(oy\w*)?( ?stat\w*)?$|emplo(y|i)|erwerb|arbeitszeit|contrat|work ?(status|class)",
    ),
    (
        Meaning("an industry", KNOWN, Reads.CATEGORY),
        r"industr|branche|\bnace|\bnaics|\bsic\b|\bcnae|\bwz ?\d*|sector|secteur|setor",
    ),
    (
        Meaning("an education", KNOWN, Reads.CATEGORY),
        r"educat|\beduc|school|schul|bildung|diplom|escolar|\bisced|degree|abschluss|estudios|\bcentro\b|\bcurso\b|"
        r"\bcourse|\bestudo|etudes|formation|qualific",
    ),
    (
        Meaning("health", SECRET),
        r"diagnos|disease|\bill\b|illness|krankheit|maladie|enfermedad|doenca|\bicd|\bcid\b|\bcid ?10|\bcie\b|"
        r"\bcie ?10|\bhiv\b|\baids\b|cancer|krebs|treatment|behandlung|traitement|tratam|medicat|medicine|"
        r"medikament|medicament|\bdrugs?\b|therap|symptom|disab|behinder|handicap|discapac|minusval|deficien|invalid|"
        r"pregnan|schwanger|gestante|gravid|enceinte|embaraz|\bsick|krankheitst|fehltage|arret|hospitali|\bsurger|"
        r"entlassungsg|"
        r"outcome|evoluc|\bmort(?!g)|death|\bdth|\btod|\bdeces|obito|vaccin|impf|vacun|\ballerg|intoleran|unvertrag|"
        r"\bsmok|rauch|\bfum(a|e)|alco[ho]?ol|alkohol|mental|psych|depress|anxiety|\bbefund|\bprocedure|\bops\b|"
        r"complicat|\bdrg\b|incapaci|diabet|asthma|stroke|hlth|\bhealth\b(?! (insur|region|board|authority|plan|cent))|"
        r"\bsante\b|\bsalud\b|\bsaude\b|gesundheit|\bblind(ness)?\b|\bdeaf|\bsurd|\bsord|cegueira|ceguera|taubheit|"
        r"gehorlos|"
        r"adverse|\bae ?(term|decod|sev|ser|out)|\bmh ?(term|decod)|injur|verletz|\bblessure|lesion|severity|"
        r"gravedad|gravidade|gravite|schweregrad",
    ),
    (
        Meaning("a laboratory value", SECRET, Reads.NUMBER),
        r"glucose|glukose|ferritin|hba1c|\bcrp\b|cholester|\bldl\b|\bhdl\b|creatin|kreatin|hemoglob|hamoglob|"
        r"systol|diastol|blood pressure|blutdruck|heart ?rate|resting hr|viral|leuko|thrombo|triglyc|\bmg dl\b|"
        r"mmol|\btsh\b|insulin|glyc|\b(sys|dia)bp|\b[sd]bp\b|\bbp\b|pulse\b",
    ),
    (
        Meaning("money", SECRET, Reads.NUMBER),
        r"income|einkommen|\beinkunfte|gehalt|vergutung|entgelt|honorar|besoldung|\blohn|lohn\b|"
        r"salar|salaire|\bwages?\b|earning|revenu|ingreso|\brenta|sueldo|"
        r"\brenda\b|rendimento|\bagi\b|\bdebt|schuld|\bdette|deuda|divida|\bloan|kredit|credit|wealth|vermogen|"
        r"patrimo|\btax (owed|paid|due|amount)|\brefund amount|pension amount|\brent$|\bmiete|miete\b|\bloyer|alquiler|"
        r"aluguel|\bclaim(s|ed)? (amount|cost|total)|\bpremium|expens|charges|\bimporte|\bmontant|\bbetrag|\bamount|"
        r"\bvalor (?!p|n)\w+|rembours|reimburs|mortgage|hypothek|\bbeitrag|elternbeitrag|\bfee$|\bfees\b",
    ),
    (
        Meaning("a benefit", SECRET),
        r"benefit|sozialhilfe|hartz|allocation|prestation|prestaci|subsid|\bbolsa|\bayuda|welfare|\bwohngeld",
    ),
    (
        Meaning("a crime or a sentence", SECRET),
        r"\bcrim|offen[cs]e|straf|convict|\bsentence|\bplea|remand|\bdelit|\bcrime|arrest(?!o)|verurteil",
    ),
    (
        Meaning("a mark or a rating", SECRET),
        r"\bgrades?$|\bscore|\bmarks?$|\bnota\b|\bnote$|zensur|\brating$|performance|leistung|evaluac|gpa",
    ),
    (
        Meaning("an opinion", SECRET, Reads.CATEGORY),
        r"opinion|\bvote|\bparty|\bpartei|partid|\bparti$|\bunion (m|s)|gewerkschaft|syndic|sindic|sexual|orient",
    ),
    (
        Meaning("a sex", KNOWN, Reads.CATEGORY),
        r"\bsex|\bgender|geschlecht|\bgenre|genero|\bsexo",
    ),
    (
        Meaning("an ethnicity or a religion", KNOWN, Reads.CATEGORY),
        r"\brace\b|\braca|\braza|ethnic|ethnie|etnia|religi|konfession|\bcor\b",
    ),
    (
        Meaning("a nationality or a language", KNOWN, Reads.CATEGORY),
        r"citizen|staatsang|nation|nacional|langu|langue|lengua|lingua|sprache|idioma|migra",
    ),
    (
        Meaning("a family status", KNOWN, Reads.CATEGORY),
        r"marital|marstat|\bmarit|married|familienstand|etat civil|estado civil|matrimon|filing status|relationship",
    ),
    (
        Meaning("a code of a place", KNOWN, Reads.CODE),
        r"\bzip|post ?(al)?|postleit|\bplz\b|\bcep\b|\bcp$|insee|\bfips|\bibge|\bnuts|\bags\b|gemeindes",
    ),
    (
        Meaning("a place", KNOWN, Reads.CATEGORY),
        r"\bcity|town|\bort\b|(wohn|geburts|arbeits|heimat|dienst)ort|stadt\b|\bstadt|gemeinde|kreis\b|\w+kreis$|"
        r"bundesland|region|county|\bstate\b|distri|"
        r"municip|concelho|freguesia|commune|ville|ciudad|cidade|provinc|departement|departam|countr|\bpais|\bpays|"
        r"\bland$|(geburts|heimat)land|herkunft|"
        r"\bplace|\bsite$|origin|\buf\b|estado\b|local(ity|idad|idade)|barrio|bairro|quartier|office|borough|court|"
        r"council",
    ),
    (
        Meaning("a place", KNOWN, Reads.NUMBER),
        r"\blat(itude)?\b|\blon(g|gitude)?\b|\bgps\b|coordinate|\beasting|\bnorthing",
    ),
    (
        Meaning("a part of the body", KNOWN, Reads.NUMBER),
        r"height|groesse|\bgrosse|taille|\baltura|\btalla|weight|gewicht|\bpoids|\bpeso|\bbmi\b|\bcm\b|\bkg\b",
    ),
    (
        Meaning("a part of the body", KNOWN, Reads.CATEGORY),
        r"blood|\bhair|\beye|blutgruppe|sanguin|\bsangue",
    ),
    (
        Meaning("a household", KNOWN),
        r"famil|household|haushalt|menage|hogar|domicilio|\bchild|kinder|enfant|hijo|filho|depend[ae]nt|hermano|"
        r"irmao|geschwist",
    ),
    (
        Meaning("a dwelling", KNOWN),
        r"tenure|dwelling|wohn|logement|vivienda|moradia|\brooms?\b|zimmer|floor|surface|superficie|\barea",
    ),
    (
        Meaning("an organisation", KNOWN, Reads.CATEGORY),
        r"departm|abteilung|krankenkasse|\bkasse\b|insurer|\bward\b|hospital|clinic|force$|authority|company",
    ),
]

# Words that say how a number is meant, whatever it is a number of.
COUNTED = re.compile(
    r"^(num|nb|nbr|n|no|nr|anz|anzahl|number of|count|qtd|cant|numero de)\b(?= \w)|\b(count|hours?|stunden|heures|"
    r"horas|days?|tage|dauer|\w+dauer|jours|dias|weeks?|months?|monate|mois|meses|minutes?|steps|cm|kg|mm|km|m2|"
    r"eur|euro|usd|dollars?|amount|total|sum|betrag|montant|importe|valor|percent|pct|rate|ratio|persons?|people|"
    r"rooms|prior)\b"
)
CODED = re.compile(
    r"\b(codes?|cod|codigo|schluessel|schlussel|kennziffer|kz|class|klasse|classe|clase|categor\w*|kategorie|type|typ|tipo|"
    r"group|gruppe|grupo|groupe|band|bracket|quintile|decile|status|statut|stat|estado|state|flag|level|niveau|nivel|"
    r"stage|stufe|grade|wave|welle|quarter|yn|ind|indicator|region)\b|\w+(stat|cat|code|grp|typ)$"
)
# A number that is given to something (`num_beneficiario`), where its values are too long to be counts.
NUMBER_OF = re.compile(r"^(num|numero|number|nummer|nr|no|n) \w+|\w+(nummer|nr)$|\b(num|numero|number|nummer|nr|no)$")
KEY = re.compile(
    r"\b(id|key|nr|no|num|number|nummer|numero|ref|reference|uuid|guid|code|codigo|kennung|idx)$|"
    r"^(id|key|uuid|guid|nu)\b|"
    r"\b\w{0,4}id$|\w+(nummer|nr|uuid|guid)$|(person|patient|record|case|member|fall|caso) ?(id|no|nr|num|ref)\b"
)
PERSON = re.compile(
    r"person|patient|pasiente|paciente|member|mitglied|subject|proband|teilnehmer|employee|mitarbeiter|student|"
    r"alumno|aluno|"
    r"versichert|client|kunde|citizen|individu|beneficiar|\bpid\b|\bassure|usager|adherent|eleve|salarie|socio|"
    r"asegurad|segurad|contribu|respond"
)
HOUSEHOLD = re.compile(r"household|haushalt|menage|hogar|domicilio|famil|\bhh ?id\b|\bhhid\b")
SURVEY_WEIGHT = re.compile(
    r"^(weight|wgt|wt|pond\w*|poids|peso|gewichtung|hochrechnung\w*|facteur|fator|factor)( \w+)?$"
)
NOT_A_PERSONS = re.compile(
    r"(school|drug|product|event|city|country|town|court|hospital|company|street|state|region|county|place|file|"
    r"course|test|commune|ville|municipio|provincia|centro|escuela|escola|schul|orts?|stadt|firmen|laender|"
    r"kurs|gemeinde|kreis|landes?|vereins?|stations?|klinik|krankenhaus|abteilungs?|medikamenten|wirkstoff|produkt|"
    r"projekt|ward|department|brand|project|host|domain|variable|column|datei) ?(name|nom|nombre|nome)|"
    r"(name|nom|nombre|nome) (of the )?(de |da |do |du |la |del )*(school|commune|"
    r"municipio|centro|provincia|ville|cidade|ciudad)"
)


def words_of(name: str) -> str:
    """`AgeAtAdmission`, `age_at_admission` and `Âge at admission` are the same words."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    folded = spaced.lower().replace("ß", "ss")
    bare = "".join(sign for sign in unicodedata.normalize("NFKD", folded) if not unicodedata.combining(sign))
    return " ".join(re.findall(r"[^\W_]+", bare))


def meaning_of(words: str) -> Meaning | None:
    """What a name means; None if it says nothing."""
    if NOT_A_PERSONS.search(words):
        words = re.sub(r" ?(names?|nom|nombre|nome)\b", "", words) or words
    return next((meaning for meaning, pattern in MEANINGS if re.search(pattern, words)), None)


def meaning_of_label(label: str) -> Meaning | None:
    """What a sentence about a column means. It names other things on the way, so it never decides alone."""
    found = meaning_of(words_of(label))
    return replace(found, certain=False) if found else None
