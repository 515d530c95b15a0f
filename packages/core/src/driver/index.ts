export { type MachineCode, MachineCodes } from '@mcm/api';
export type { InstanceEvidence } from '../evidence/bundle.ts';
export { type ErrorCategory, type ErrorKind, errorKindOf, type Fault } from './category.ts';
export { providerSpecProblem, type ReadProviderSpec } from './class-problem.ts';
export type { DriverContext } from './context.ts';
export { decodeInput, decodeSpec, pathText } from './decode.ts';
export {
  type DecodedInput,
  type DriverCall,
  type DriverDefinition,
  type DriverInput,
  defineDriver,
} from './define-driver.ts';
export type {
  Address,
  CreatedInstance,
  CreateRequest,
  Driver,
  DriverRequest,
  FoundInstance,
  Instance,
  ListedInstance,
  MachineRequest,
  ObserveApi,
  VolumeSource,
} from './driver.ts';
export { MachineError } from './errors.ts';
export { FieldErrors } from './field-errors.ts';
export { type Folded, foldGoJson, readGoJson, specTypeProblems } from './go-json.ts';
export { createInvoker } from './invoker.ts';
export {
  DRIVER_TIMEOUTS,
  type DriverInvoker,
  type DriverTimeouts,
  type InvokerCaches,
  type InvokerOptions,
  type ObserveCall,
} from './invoker-api.ts';
export { type JwtParts, signJwt } from './jwt.ts';
export { LearnedRate } from './learned-rate.ts';
export { type ObservedCall, observedCalls } from './observed.ts';
export { observingDriver } from './observing.ts';
export { isOthers, OWNER_TAG, ownerOf, ownerTags, refuseOthers } from './owner.ts';
export { type Sent, withoutSent } from './redact.ts';
export { type DriverReference, driverReference, type JsonSchema, referenceText } from './reference.ts';
export { retryAfterOf } from './retry-after.ts';
export { bytesOf, isText, unpackedText } from './secret-value.ts';
export { singleFlight } from './single-flight.ts';
export {
  askForText,
  askForToken,
  type TextQuestion,
  type TokenQuestion,
  TokenRefused,
  TokenUnavailable,
} from './token.ts';
export { type Token, type TokenSource, tokenSource } from './token-source.ts';
export { type DriverSpan, type DriverTracer, registeredTracer } from './tracing.ts';
export { unknownFields } from './unknown-fields.ts';
