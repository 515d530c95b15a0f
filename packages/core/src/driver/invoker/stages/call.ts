import type { Machine, MachineClass } from '@mcm/api';
import type { DriverRequest } from '../../contract/driver.ts';
import type { Alternative } from '../../offerings/alternative.ts';
import type { ClassSecrets } from '../../schemas/credentials.ts';
import type { DriverCall } from '../../schemas/define-driver.ts';
import type { OnOverdue } from '../api/invoker-api.ts';
import type { CallSpan } from '../api/tracing.ts';

/**
 * One stage of a call before it reaches the driver. A stage may refuse the call, delay the call, or change its result.
 */
export type Stage<In, Out = In> = <T>(call: In, next: (call: Out) => Promise<T>) => Promise<T>;

export interface Call {
  readonly name: DriverCall;
  /** Text for messages, such as `create of machine m-1`. */
  readonly subject: string;
  /** `machine` is undefined for a listing. */
  readonly machine: Machine | undefined;
  readonly classNow: () => MachineClass | undefined;
  /** @throws MachineError if the class does not exist or cannot be read */
  readonly requireClass: () => MachineClass;
  readonly secretsNow: () => ClassSecrets;
  /**
   * The alternative whose part of the cloud a listing searches. If `alternative` is undefined, the listing searches the
   * part of the cloud where the class or the machine is.
   */
  readonly alternative?: Alternative | undefined;
  readonly onOverdue: OnOverdue | undefined;
  readonly progress: Progress;
}

/** The inner stages of a call write this state, and the outer stages read it after a failure. */
interface Progress {
  /**
   * `sent` is true if the driver has received the request. Any error while `sent` is false comes from the class, its
   * Secrets or this process.
   */
  sent: boolean;
  /** A copy of the Secrets of the request, because the Secret objects may change during the call. */
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
