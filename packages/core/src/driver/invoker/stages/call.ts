import type { Machine, MachineClass } from '@mcm/api';
import type { DriverRequest } from '../../contract/driver.ts';
import type { Alternative } from '../../offerings/alternative.ts';
import type { ClassSecrets } from '../../schemas/credentials.ts';
import type { DriverCall } from '../../schemas/define-driver.ts';
import type { OnOverdue } from '../api/invoker-api.ts';
import type { CallSpan } from '../api/tracing.ts';

/**
 * A stage of a call before the call reaches the driver. A stage may refuse the call, delay the call, or change its
 * result.
 */
export type Stage<In, Out = In> = <T>(call: In, next: (call: Out) => Promise<T>) => Promise<T>;

export interface Call {
  readonly name: DriverCall;
  /** Text for messages, such as `create of machine m-1`. */
  readonly subject: string;
  /** The machine of the call. `machine` is undefined for a listing. */
  readonly machine: Machine | undefined;
  readonly classNow: () => MachineClass | undefined;
  /**
   * Returns the class of the call.
   * @throws MachineError if the class does not exist or cannot be read
   */
  readonly requireClass: () => MachineClass;
  readonly secretsNow: () => ClassSecrets;
  /**
   * The alternative that determines where a listing searches, such as a zone. If `alternative` is undefined, the
   * listing searches where the class or the machine is.
   */
  readonly alternative?: Alternative | undefined;
  readonly onOverdue: OnOverdue | undefined;
  readonly progress: Progress;
}

/** The state of a call. The inner stages write the state, and the outer stages read the state after a failure. */
interface Progress {
  /**
   * `sent` is true if the driver has received the request. While `sent` is false, any error comes from the class, its
   * Secrets or this process.
   */
  sent: boolean;
  /** A copy of the Secrets of the request. The Secret objects in the cache may change during the call. */
  secrets?: ClassSecrets;
}

export interface TracedCall extends Call {
  readonly span: CallSpan;
}

export interface TimedCall extends TracedCall {
  readonly signal: AbortSignal;
}

export interface DecodedCall<Spec, Credentials> extends TimedCall {
  readonly request: DriverRequest<Spec, Credentials>;
  readonly secrets: ClassSecrets;
}
