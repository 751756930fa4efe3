"""The named senses in which attention may be an explanation, and the tests of each."""

from __future__ import annotations

from attentest.studies.experiments.adversary import FAR, TrainedAdversary
from attentest.studies.experiments.fix import Fix
from attentest.studies.experiments.guides import Guides
from attentest.studies.experiments.informed import InformedAdversary
from attentest.studies.experiments.seeds import Seeds
from attentest.studies.experiments.untrained import Untrained
from attentest.studies.verdict.criterion import (
    AT_LEAST,
    AT_MOST,
    CALIBRATED,
    DEFINES,
    MODELS,
    MORE_THAN,
    TOKENS,
    Criterion,
    Definition,
    People,
)
from attentest.studies.verdict.figures import (
    above_chance,
    entry_of,
    figure_over_trainings,
    fixed,
    further_than_seeds,
    if_far,
    if_none_far,
    moves_more_than_seeds,
    trainings_of,
    up_to_lambda,
)
from attentest.trials.adversary import InstanceAdversary
from attentest.trials.correlation import Correlation
from attentest.trials.erasure import Erasure
from attentest.trials.exchange import Exchange
from attentest.trials.importance_sets import ImportanceSets
from attentest.trials.information import Information
from attentest.trials.overlap import Overlap
from attentest.trials.permutation import Permutation
from attentest.trials.rationale import Rationale
from attentest.trials.removal import Flips, Removal
from attentest.trials.uniform import Uniform

_NO_FAR = "no λ tried moved the attention to a JSD above 0.4"

DEFINITIONS = {
    definition.name: definition
    for definition in (
        Definition(
            "used",
            "Decisions change without the weights.",
            (
                Criterion(
                    "used.decisions", Uniform,
                    "share of decisions that change when the weights are made uniform",
                    figure_over_trainings(Uniform, "decisions"), AT_LEAST, 0.05,
                    "our convention, one decision in twenty", role=DEFINES, trained=trainings_of(Uniform, "decisions"),
                ),
                Criterion(
                    "used.accuracy", Uniform,
                    "accuracy lost when the weights are made uniform",
                    figure_over_trainings(Uniform, "lost"), AT_LEAST, 0.01,
                    "our convention, the same as for needed.trained", trained=trainings_of(Uniform, "lost"),
                ),
                Criterion(
                    "used.permutation", Permutation,
                    "change of the prediction when the weights are shuffled (median TVD, mean over texts)",
                    entry_of(Permutation, "moved"), AT_LEAST, 0.1,
                    "our convention, a tenth of the largest possible change",
                ),
            ),
            "A decision that changes with the weights depends on them; that does not mean that they point at the "
            "right tokens.",
            "Wiegreffe & Pinter 2019 §3.2; Vashishth et al. 2019 §4.1",
            "The definition is the measured figure itself, so its errors are those of its interval.",
        ),
        Definition(
            "needed",
            "A model without attention decides worse.",
            (
                Criterion(
                    "needed.trained", Untrained,
                    "accuracy lost by models trained with uniform weights",
                    entry_of(Untrained, "accuracy change", -1), AT_LEAST, 0.01,
                    "Wiegreffe & Pinter 2019 §3.2, Table 2 (which is F1): corpora that lose .004 and .008 are set "
                    "aside, .009 is borderline, .023 is kept", MODELS, DEFINES,
                    trained=entry_of(Untrained, "trainings"),
                ),
                Criterion(
                    "needed.f1", Untrained,
                    "F1 lost by models trained with uniform weights",
                    entry_of(Untrained, "change", -1), AT_LEAST, 0.01,
                    "Wiegreffe & Pinter 2019 §3.2, Table 2, as for needed.trained",
                    MODELS, trained=entry_of(Untrained, "trainings"),
                ),
            ),
            "Attention that a task does not need cannot explain how the task is done; over a single text the weights "
            "may act only as a gate.",
            "Wiegreffe & Pinter 2019 §3.2; Vashishth et al. 2019 §4.1",
            "The definition is the measured figure itself, so its errors are those of its interval over trainings "
            "and texts.",
        ),
        Definition(
            "stable",
            "Trained again with another seed, the model attends to the same tokens.",
            (
                Criterion(
                    "stable.seeds", Seeds,
                    "agreement of the weights of models that differ only in their seed, from 0 (as far apart as "
                    "permuted weights) to 1 (the same)",
                    entry_of(Seeds, "agreement"), AT_LEAST, 0.5,
                    "our convention, half way", MODELS, CALIBRATED, fixed(0), fixed(1),
                    trained=entry_of(Seeds, "trainings"),
                ),
                Criterion(
                    "stable.adversary", InstanceAdversary,
                    "distance (JSD) to the furthest weights with the same prediction, minus the distance between seeds",
                    further_than_seeds(InstanceAdversary, "furthest"), MORE_THAN, 0.0,
                    "Wiegreffe & Pinter 2019 §3.3, Fig. 3: the variance between seeds is the baseline",
                    absent="no distant weights give the same prediction, so there is nothing to compare the seeds with",
                    against=Seeds,
                ),
                Criterion(
                    "stable.model", TrainedAdversary,
                    "distance (JSD) to the weights of an adversarial model, minus the distance between seeds",
                    further_than_seeds(TrainedAdversary, "far"), MORE_THAN, 0.0,
                    "Wiegreffe & Pinter 2019 §4, Fig. 5", MODELS, absent=_NO_FAR, against=Seeds,
                ),
            ),
            "Some variance between seeds is normal, and stable weights can still be wrong.",
            "Wiegreffe & Pinter 2019 §3.3",
            "Attention that is trained on the known words is the same for every seed; weights that are drawn at "
            "random or never trained are not.",
        ),
        Definition(
            "exclusive",
            "No very different weights give the same predictions.",
            (
                Criterion(
                    "exclusive.model", TrainedAdversary,
                    "change of the predictions (TVD) of an adversarial model whose weights are at a JSD above 0.4, "
                    "minus the change between seeds",
                    moves_more_than_seeds, MORE_THAN, 0.0,
                    "Wiegreffe & Pinter 2019 §4, Fig. 5: seeds tell how much predictions differ anyway", MODELS,
                    DEFINES, absent=_NO_FAR, always=entry_of(TrainedAdversary, "reached"), against=Seeds,
                    searched=up_to_lambda,
                ),
                Criterion(
                    "exclusive.search", TrainedAdversary,
                    "distance (JSD) to the furthest adversarial model with the same predictions, where none is above "
                    "0.4",
                    if_none_far, AT_MOST, FAR,
                    "Wiegreffe & Pinter 2019, Table 4: the JSD of an adversary", MODELS, DEFINES,
                    absent="an adversary above a JSD of 0.4 was found, or none that makes the same predictions",
                    always=entry_of(TrainedAdversary, "reached"),
                    searched=up_to_lambda,
                ),
                Criterion(
                    "exclusive.f1", TrainedAdversary,
                    "F1 lost by an adversarial model whose weights are at a JSD above 0.4",
                    entry_of(TrainedAdversary, "change", -1), AT_LEAST, 0.02,
                    "our convention; the adversaries in Wiegreffe & Pinter 2019, Table 4, lose at most .008 F1 "
                    "compared with Table 2", MODELS, absent=_NO_FAR,
                ),
                Criterion(
                    "exclusive.texts", InstanceAdversary,
                    "share of texts for which weights at a JSD above 0.4 give the same prediction",
                    entry_of(InstanceAdversary, "far"), AT_MOST, 0.5,
                    "our convention, half of the texts; the JSD of 0.4 is from Wiegreffe & Pinter 2019, Table 4",
                ),
            ),
            "A prediction can have several valid explanations: other weights that work as well do not prove these "
            "wrong.",
            "Wiegreffe & Pinter 2019 §2.1",
            "No model is known for which it can be proven that no other weights exist, so only half of the truth "
            "could be constructed: the verdict is not calibrated.",
        ),
        Definition(
            "faithful",
            "High-weight tokens are the ones the decision depends on.",
            (
                Criterion(
                    "faithful.exchange", Exchange,
                    "probability gained by the other text's class when two texts exchange their heaviest tokens, from "
                    "0 (as with random tokens) to 1 (as with tokens ranked by leave-one-out)",
                    figure_over_trainings(Exchange, "position"), AT_LEAST, 0.5,
                    "our convention, half way", TOKENS, CALIBRATED, fixed(0), fixed(1),
                    "no text has more than one token", trained=trainings_of(Exchange, "position"),
                ),
                Criterion(
                    "faithful.comprehensiveness", Erasure,
                    "probability lost when the heaviest tokens are removed, from 0 (as random tokens) to 1 (as tokens "
                    "ranked by leave-one-out)",
                    figure_over_trainings(Erasure, "comprehensiveness position"), AT_LEAST, 0.5,
                    "our convention, half way", TOKENS, CALIBRATED, fixed(0), fixed(1),
                    trained=trainings_of(Erasure, "comprehensiveness position"),
                ),
                Criterion(
                    "faithful.sufficiency", Erasure,
                    "probability lost when only the heaviest tokens are kept, from 0 (as random tokens) to 1 (as "
                    "tokens ranked by leave-one-out)",
                    figure_over_trainings(Erasure, "sufficiency position"), AT_LEAST, 0.5,
                    "our convention, half way", TOKENS, CALIBRATED, fixed(0), fixed(1),
                    trained=trainings_of(Erasure, "sufficiency position"),
                ),
                Criterion(
                    "faithful.top", Overlap,
                    "share of the three heaviest tokens that are also the most important ones by leave-one-out, from 0 "
                    "(by chance) to 1 (as many as gradients and leave-one-out share)",
                    figure_over_trainings(Overlap, "top position"), AT_LEAST, 0.5,
                    "our convention, half way", TOKENS, CALIBRATED, fixed(0), fixed(1),
                    absent="not defined: other measures share no more than chance, or the model gives no gradients",
                    trained=trainings_of(Overlap, "top position"),
                ),
                Criterion(
                    "faithful.leave-one-out", Correlation,
                    "Kendall τ of attention with leave-one-out",
                    entry_of(Correlation, "leave-one-out"), AT_LEAST, 0.5,
                    "the agreement of gradients with leave-one-out in the result files of Jain & Wallace 2019 "
                    "(.517 to .656)", TOKENS, CALIBRATED,
                    entry_of(Correlation, "leave-one-out null"), entry_of(Correlation, "ceiling"),
                    "leave-one-out was not among the measures",
                ),
                Criterion(
                    "faithful.gradient", Correlation,
                    "Kendall τ of attention with |gradient × input|, attention held fixed",
                    entry_of(Correlation, "gradient"), AT_LEAST, 0.5,
                    "the same as for faithful.leave-one-out", TOKENS, CALIBRATED,
                    entry_of(Correlation, "gradient null"), entry_of(Correlation, "ceiling"),
                    "the model has no gradients with respect to its inputs",
                ),
                Criterion(
                    "faithful.removal", Removal,
                    "change of the output without the heaviest state, minus the change without random states of the "
                    "same weight (ΔJS)",
                    entry_of(Removal, "mass-matched"), MORE_THAN, 0.0,
                    "Serrano & Smith 2019 §4.1: above 0 the heaviest item matters more", role=CALIBRATED,
                ),
                Criterion(
                    "faithful.flips", Flips,
                    "share of decisions that flip without the heaviest state, minus the share without random states "
                    "of the same weight",
                    entry_of(Flips, "mass-matched"), MORE_THAN, 0.0,
                    "Serrano & Smith 2019 §4.2, Table 2", role=CALIBRATED,
                ),
                Criterion(
                    "faithful.sets", ImportanceSets,
                    "share of states removed before the decision flips when ranked by attention, from 0 (as random) "
                    "to 1 (as the best ranking)",
                    entry_of(ImportanceSets, "position of the best"), AT_LEAST, 0.5,
                    "our convention, half way", role=CALIBRATED, null=fixed(0), ceiling=fixed(1),
                ),
            ),
            "Exchanges, erasure and rank correlation are not proof: mixtures of two texts and texts without some of "
            "their words are unlike those that the model was trained on, and the weights are over hidden states, not "
            "words.",
            "Meister et al. 2021 §4; DeYoung et al. 2020",
            "The words that decide are planted and proven to decide by swapping them; attention is trained to be on "
            "them, random, or kept off them.",
        ),
        Definition(
            "informative",
            "High-weight states carry the information about the decision.",
            (
                Criterion(
                    "informative.information", Information,
                    "information about the output under the weights, from 0 (as under equal weights) to 1 (all weight "
                    "on the most informative state)",
                    figure_over_trainings(Information, "position"), MORE_THAN, 0.0,
                    "Wen et al. 2022 §3: high weights sit on informative states", role=CALIBRATED, null=fixed(0),
                    ceiling=fixed(1), trained=trainings_of(Information, "position"),
                ),
                Criterion(
                    "informative.guide", Guides,
                    "F1 gained by a model without context when it uses these weights instead of uniform ones",
                    entry_of(Guides, "gain"), MORE_THAN, 0.0,
                    "Wiegreffe & Pinter 2019 §3.4, Table 3", MODELS,
                ),
                Criterion(
                    "informative.fix", Fix,
                    "weighted τ lost when the weights are fixed at random and the rest of the model is trained",
                    entry_of(Fix, "lost"), MORE_THAN, 0.0,
                    "Wen et al. 2022 §5.1, Table 2: the attention finds the information, not the other way round",
                    MODELS,
                ),
                Criterion(
                    "informative.adversary", InformedAdversary,
                    "weighted τ lost by an adversarial model",
                    if_far(InformedAdversary, "lost"), AT_MOST, 0.1,
                    "our convention; Wen et al. 2022 §5.2, Table 4, find no large drop", MODELS,
                    absent="the adversary stayed within a JSD of 0.4, too close for its τ to change",
                ),
            ),
            "The information is in hidden states, which carry much more than the word at their position.",
            "Wen et al. 2022 §6; Meister et al. 2021 §4",
            "Without context a state knows only its own word, so the planted words are where the information is: the "
            "truth is known for encoders without context.",
        ),
        Definition(
            "plausible",
            "High-weight tokens are the ones people give as the reason.",
            (
                Criterion(
                    "plausible.auprc", Rationale,
                    "agreement of the weights with the corpus's rationale (area under the precision–recall curve), "
                    "from 0 (by chance) to 1 (perfect)",
                    above_chance, AT_LEAST, 0.5,
                    "our convention, half way", TOKENS, DEFINES, fixed(0), fixed(1),
                    trained=trainings_of(Rationale, "auprc"),
                ),
                Criterion(
                    "plausible.heaviest", Rationale,
                    "share of texts whose heaviest token is in the corpus's rationale",
                    entry_of(Rationale, "heaviest"), AT_LEAST, 0.5,
                    "our convention, half of the texts", TOKENS, null=entry_of(Rationale, "tokens"),
                ),
                Criterion(
                    "plausible.weight", Rationale,
                    "share of the weight on the rationale, minus the rationale's share of the tokens",
                    entry_of(Rationale, "more weight"), MORE_THAN, 0.0,
                    "our convention: above 0 is better than chance", TOKENS,
                ),
                Criterion(
                    "plausible.people", People,
                    "share of texts whose three heaviest words people call relevant; a yes also needs a larger share "
                    "than with permuted weights",
                    entry_of(People, "relevant"), AT_LEAST, 0.5,
                    "our convention, half of the texts; Vashishth et al. 2019 §4.4 ask people but set no threshold",
                    TOKENS, DEFINES, entry_of(People, "permuted"),
                    absent="no people were asked; attentest annotate makes a study, which the audit takes as `people`",
                    above_null=entry_of(People, "difference"),
                ),
            ),
            "An explanation that convinces people need not be what the model did.",
            "Wiegreffe & Pinter 2019 §5; Vashishth et al. 2019 §4.4",
            "The definition is the measured figure itself, so its errors are those of its interval. Models of known "
            "truth are told apart by where their weight is, so rates on them would be circular.",
        ),
    )
}  # fmt: skip
CRITERIA = {c.name: c for definition in DEFINITIONS.values() for c in definition.criteria}
