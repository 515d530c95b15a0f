/** The API machine.sapcloud.io/v1alpha1: types, schemas, validation, default values, CRDs, and all constants. */

export {
  ANNOTATIONS_NOT_COPIED,
  Annotations,
  DEFAULT_MACHINE_PRIORITY,
  type PreserveValue,
  PreserveValues,
  TRIGGERED_DELETION_PRIORITY,
} from './constants/annotations.ts';
export { BootstrapTokens, USER_DATA_KEY, UserDataPlaceholders } from './constants/bootstrap.ts';
export {
  type ConditionMeaning,
  type ConditionWords,
  DEPLOYMENT_CONDITIONS,
  MACHINE_CONDITIONS,
  NODE_CONDITIONS,
  type ReasonMeaning,
  SET_CONDITIONS,
} from './constants/condition-meanings.ts';
export {
  type ConditionReason,
  ConditionReasons,
  type ConditionStatus,
  DEFAULT_NODE_CONDITIONS,
  DRAIN_TIMEOUT_EXPIRED,
  type InPlaceUpdateReason,
  InPlaceUpdateReasons,
  MachineConditions,
  MachineDeploymentConditions,
  type MachineDeploymentConditionType,
  MachineSetConditions,
  type MachineSetConditionType,
  NodeConditions,
  PreservedMessages,
  PreservedReasons,
  TerminatingReasons,
} from './constants/conditions.ts';
export { EVENTS, type EventMeaning, type EventReason, EventReasons, EventSources } from './constants/events.ts';
export { Finalizers } from './constants/finalizers.ts';
export {
  freezeProblem,
  isForceDeletion,
  isFrozen,
  isGoBoolean,
  Labels,
  TRUE,
  TRUE_LOWER,
  type UpdateResult,
  UpdateResults,
} from './constants/labels.ts';
export {
  deletionRank,
  isActivePhase,
  isAvailablePhase,
  isReadyPhase,
  type MachineOperationType,
  MachineOperationTypes,
  type MachinePhase,
  MachinePhases,
  type MachineState,
  MachineStates,
  PHASE_METRIC_VALUES,
} from './constants/machine-phases.ts';
export { type PresenceKey, presenceProblem } from './constants/presence.ts';
export {
  CODE_MEANINGS,
  OPERATION_MEANINGS,
  PHASE_MEANINGS,
  STATE_MEANINGS,
  STEP_MEANINGS,
  type WordMeaning,
} from './constants/status-meanings.ts';
export { type KnownTaint, Taints } from './constants/taints.ts';
export { crds } from './crd/crds.ts';
export type { CustomResourceDefinition, PrinterColumn } from './crd/custom-resource-definition.ts';
export { type MachineResource, machineClasses, machineDeployments, machineSets, machines } from './crd/resources.ts';
export type { StructuralSchema } from './crd/structural-schema.ts';
export { crdFileName, crdYaml } from './crd/yaml.ts';
export {
  DEFAULT_IN_PLACE_UPDATE,
  DEFAULT_REPLICAS,
  DEFAULT_ROLLING_UPDATE,
  DEFAULT_STRATEGY,
} from './kinds/default-values.ts';
export { defaultMachineDeployment, defaultMachineSet } from './kinds/defaults.ts';
export { API_VERSION, GROUP, VERSION } from './kinds/group.ts';
export { formatSelector, isEmptySelector, requirementHolds, selectorMatches } from './kinds/label-selector.ts';
export {
  type CurrentStatus,
  type Machine,
  type MachineSpec,
  type MachineStatus,
  machineSchema,
  phaseOf,
} from './kinds/machine.ts';
export { type MachineClass, machineClassSchema, type NodeTemplate } from './kinds/machine-class.ts';
export {
  type InPlaceUpdate,
  type MachineDeployment,
  type MachineDeploymentCondition,
  type MachineDeploymentSpec,
  type MachineDeploymentStatus,
  type MachineDeploymentStrategy,
  machineDeploymentSchema,
  ORCHESTRATION_TYPES,
  type RollingUpdate,
  STRATEGY_TYPES,
} from './kinds/machine-deployment.ts';
export {
  type MachineSet,
  type MachineSetCondition,
  type MachineSetSpec,
  type MachineSetStatus,
  machineSetSchema,
} from './kinds/machine-set.ts';
export type { MachineTemplateSpec } from './kinds/machine-template.ts';
export type { NodeAddress, NodeCondition, NodeTemplateSpec, Taint } from './kinds/node.ts';
export type { ObjectMeta, OwnerReference } from './kinds/object-meta.ts';
export {
  type Block,
  type BlockCause,
  type ClassReference,
  type LabelSelector,
  type LabelSelectorRequirement,
  type LastOperation,
  labelSelectorSchema,
  type MachineSummary,
  type SecretReference,
  type TemplateMetadata,
} from './kinds/shared.ts';
export { type FieldError, type FieldErrorType, formatFieldErrors } from './validation/field-error.ts';
export {
  validateMachine,
  validateMachineClass,
  validateMachineDeployment,
  validateMachineSet,
} from './validation/validate.ts';
export { counted } from './values/counted.ts';
export {
  DURATION_PATTERN,
  formatDurationMs,
  formatDurationNs,
  parseDurationMs,
  parseDurationNs,
} from './values/duration.ts';
export {
  formatIntOrPercent,
  INT_OR_PERCENT_PATTERN,
  type IntOrPercent,
  type ParsedIntOrPercent,
  parseIntOrPercent,
  resolveIntOrPercent,
} from './values/int-or-percent.ts';
export { formatInteger, parseInteger } from './values/integer.ts';
export {
  formatQuantity,
  type ParsedQuantity,
  parseQuantity,
  QUANTITY_PATTERN,
  type Quantity,
  type QuantityFormat,
  quantitiesEqual,
} from './values/quantity.ts';
export { formatTime, parseTime } from './values/time.ts';
export {
  isMachineCode,
  type MachineCode,
  type MachineCodeNumber,
  MachineCodes,
  machineCodeName,
} from './wire/machine-codes.ts';
export {
  type MachineErrorText,
  type ParsedMachineError,
  parseMachineError,
  printMachineError,
} from './wire/machine-error.ts';
export {
  DELETION_STEPS,
  type DeletionStep,
  DescriptionTexts,
  parseStep,
  printStep,
  STEP_TEXTS,
  saysOutOfRange,
} from './wire/steps.ts';
