export { type MachineCode, MachineCodes } from '@mcm/api';
export { providerSpecProblem, type ReadProviderSpec } from './class-problem.ts';
export { AccountRates } from './cloud/account-rates.ts';
export type { DriverContext } from './cloud/context.ts';
export { LANES, type Lane, type LaneOfCalls, laneOfCalls } from './cloud/lanes.ts';
export { LearnedRate, LearnedRates } from './cloud/learned-rate.ts';
export { type ObservedCall, observedCalls } from './cloud/observed.ts';
export { observingDriver } from './cloud/observing.ts';
export { SharedLookup } from './cloud/shared-lookup.ts';
export { singleFlight } from './cloud/single-flight.ts';
export {
  askForText,
  askForToken,
  clockText,
  type TextQuestion,
  type TokenQuestion,
  TokenRefused,
  TokenUnavailable,
} from './cloud/token.ts';
export { type Token, type TokenSource, tokenSource } from './cloud/token-source.ts';
export type { InstanceEvidence } from './contract/bundle.ts';
export { type ErrorCategory, type ErrorKind, errorKindOf, type Fault } from './contract/category.ts';
export type {
  Address,
  CreatedInstance,
  CreateRequest,
  Driver,
  DriverRequest,
  FoundInstance,
  Instance,
  InterruptionKind,
  InterruptionNotice,
  InterruptionRequest,
  ListedInstance,
  ListRequest,
  MachineRequest,
  NoticeAnswer,
  ObserveApi,
  StopRequest,
  TagRequest,
  VolumeSource,
} from './contract/driver.ts';
export { MachineError } from './contract/errors.ts';
export { isOthers, OWNER_TAG, ownerOf, ownerTags, refuseOthers } from './contract/owner.ts';
export { retryAfterOf } from './contract/retry-after.ts';
export { listedTags, ORPHAN_TAGS, splitTagChanges, type TagChanges } from './contract/tags.ts';
export {
  DRIVER_TIMEOUTS,
  type DriverInvoker,
  type DriverTimeouts,
  type InvokerCaches,
  type InvokerOptions,
  type ObserveCall,
} from './invoker/api/invoker-api.ts';
export { type DriverSpan, type DriverTracer, registeredTracer } from './invoker/api/tracing.ts';
export { createInvoker } from './invoker/invoker.ts';
export { type JwtParts, signJwt } from './jwt.ts';
export {
  type Alternative,
  type AlternativeField,
  alternativeText,
  type Market,
  offeringOf,
  zoneOfferingOf,
} from './offerings/alternative.ts';
export { type AlternativeRules, alternativeProblems, type Offering } from './offerings/rules.ts';
export { decodeInput, decodeSpec, pathText } from './schemas/decode.ts';
export {
  type DecodedInput,
  type DriverCall,
  type DriverDefinition,
  type DriverInput,
  defineDriver,
} from './schemas/define-driver.ts';
export { FieldErrors } from './schemas/field-errors.ts';
export { type Folded, foldGoJson, readGoJson, specTypeProblems } from './schemas/go-json.ts';
export { reportsRefusedCredentials } from './schemas/hint.ts';
export { type DriverReference, driverReference, type JsonSchema, referenceText } from './schemas/reference.ts';
export { trimSpace } from './schemas/trim-space.ts';
export { unknownFields } from './schemas/unknown-fields.ts';
export { type Sent, shortestSecret, withoutSent } from './secrets/redact.ts';
export { bytesOf, isText, unpackedText } from './secrets/secret-value.ts';
