import type { Machine, MachineClass } from '@mcm/api';
import type { DriverRequest } from '../../contract/driver.ts';
import type { Alternative } from '../../offerings/alternative.ts';
import type { ClassSecrets } from '../../schemas/credentials.ts';
import type { DriverCall } from '../../schemas/define-driver.ts';
import type { OnOverdue } from '../api/invoker-api.ts';
import type { CallSpan } from '../api/tracing.ts';

/** A step that each driver call passes. A stage may refuse a call, delay a call, or change its result. */
export type Stage<In, Out = In> = <T>(call: In, next: (call: Out) => Promise<T>) => Promise<T>;

export interface Call {
  readonly name: DriverCall;
  /** Text for messages, such as `create of machine m-1`. */
  readonly subject: string;
  /** The machine of the driver call. For the driver call `list`, the machine is undefined. */
  readonly machine: Machine | undefined;
  readonly classNow: () => MachineClass | undefined;
  /**
   * @throws MachineError if the class does not exist or cannot be read
   */
  readonly requireClass: () => MachineClass;
  readonly secretsNow: () => ClassSecrets;
  /**
   * The alternative that determines where `list` searches, such as a zone. By default, `list` searches the zone of the
   * class or the machine.
   */
  readonly alternative?: Alternative | undefined;
  readonly onOverdue: OnOverdue | undefined;
  readonly progress: Progress;
}

/**
 * The progress of a driver call. The inner stages write the progress, and the outer stages read the progress after a
 * failure.
 */
interface Progress {
  /**
   * Whether the driver has received the request. An earlier error comes from the class, its Secrets or this process.
   */
  sent: boolean;
  /**
   * The Secrets of the call. The Secrets are a copy, because the Secret objects in the cache may change during the
   * call.
   */
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
