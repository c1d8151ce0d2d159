"""Words of everyday work that name nothing ("run the tests", "mach weiter"), and words by which
English and German are known."""

from __future__ import annotations

from memory_core.text.words import FILLER_WORDS, GERMAN_STOPWORDS, STOPWORDS, listed

EVERYDAY = (
    STOPWORDS
    | GERMAN_STOPWORDS
    | FILLER_WORDS
    | frozenset(
        listed(
            """run rerun start restart stop test tests build compile lint format review pr check
            recheck verify fix refactor rename try retry again continue proceed keep move next last
            previous first second third other another same different one ones thing things part
            change changes changed changing edit update undo redo revert apply reset remove delete
            add create make write rewrite read open close save show print look see explain
            describe tell summarise summarize translate convert list find search use do it file
            files code function functions method class line lines word words sentence text output
            input result results error errors bug bugs issue diff branch merge push pull rebase
            squash command script app program server folder directory terminal shorter
            longer simpler better faster cleaner nicer smaller bigger work works working worked
            done finished ready help helps want wants wanted need needs think mean means call called
            name named answer question example step version option idea way time now today please
            quick quickly

            ausführen ausführe führe starte starten stoppen teste testen test tests baue bauen prüfe
            prüfen überprüfe korrigiere korrigieren behebe beheben versuche versuch nochmal
            noch weiter weitermachen mach mache machen nächste nächsten letzte letzten
            vorige erste ersten zweite zweiten dritte andere anderen anderes gleiche
            ding sache teil ändere ändern änderung änderungen rückgängig lösche löschen
            füge erstelle erstellen schreib schreibe schreiben lies lesen öffne öffnen schließe
            speichern speichere zeig zeige zeigen schau schaue erkläre erklär erklären beschreibe
            sag sage übersetze übersetzen suche suchen finde nimm benutze datei dateien ordner
            zeile zeilen wort wörter satz sätze text ausgabe ergebnis fehler kürzer länger
            einfacher besser schneller schöner kleiner größer räum räume geht klappt funktioniert
            fertig hilf hilfe will brauche meine meint heiße heißt heißen nennt nennen bedeutet
            antwort frage beispiel schritt passt stimmt gut jetzt heute bitte schnell vielen lieben
            super okay dank"""
        )
    )
)
"""English and German, lower case."""

_TELLING_VERBS = listed(
    "says said wants wanted keeps kept gets got goes went tells told takes took comes makes gives"
)

TELLING = (STOPWORDS | GERMAN_STOPWORDS | frozenset(_TELLING_VERBS)) - frozenset(
    listed(
        """a am an as at be but by do for had has he her i in is me my no of on once or over so to
        under was we da des du er es man um vor war wo"""
    )
)
"""Words that no other language has much: one of them tells English or German."""
