import type { Machine, MachineClass } from '@mcm/api';
import type { DriverRequest } from '../../contract/driver.ts';
import type { Alternative } from '../../offerings/alternative.ts';
import type { ClassSecrets } from '../../schemas/credentials.ts';
import type { DriverCall } from '../../schemas/define-driver.ts';
import type { OnOverdue } from '../api/invoker-api.ts';
import type { CallSpan } from '../api/tracing.ts';

/** A stage before the driver may refuse a call, delay a call, or change its result. */
export type Stage<In, Out = In> = <T>(call: In, next: (call: Out) => Promise<T>) => Promise<T>;

export interface Call {
  readonly name: DriverCall;
  /** Text for messages, such as `create of machine m-1`. */
  readonly subject: string;
  /** The machine of the call. The machine is undefined for a listing. */
  readonly machine: Machine | undefined;
  readonly classNow: () => MachineClass | undefined;
  /**
   * @throws MachineError if the class does not exist or cannot be read
   */
  readonly requireClass: () => MachineClass;
  readonly secretsNow: () => ClassSecrets;
  /**
   * The alternative that determines where a listing searches, such as a zone (default: the place of the class or the
   * machine).
   */
  readonly alternative?: Alternative | undefined;
  readonly onOverdue: OnOverdue | undefined;
  readonly progress: Progress;
}

/** The inner stages write the progress of a call, and the outer stages read it after a failure. */
interface Progress {
  /**
   * Whether the driver has received the request. Before, any error comes from the class, its Secrets or this process.
   */
  sent: boolean;
  /** The Secret objects in the cache may change during the call, so these Secrets are a copy. */
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
