import type { Machine, MachineClass } from '@mcm/api';
import type { DriverRequest } from '../../contract/driver.ts';
import type { Alternative } from '../../offerings/alternative.ts';
import type { ClassSecrets } from '../../schemas/credentials.ts';
import type { DriverCall } from '../../schemas/define-driver.ts';
import type { OnOverdue } from '../api/invoker-api.ts';
import type { CallSpan } from '../api/tracing.ts';

/** A step of each driver call. A stage may refuse a call, delay a call, or change its result. */
export type Stage<In, Out = In> = <T>(call: In, next: (call: Out) => Promise<T>) => Promise<T>;

export interface Call {
  readonly name: DriverCall;
  readonly subject: string;
  readonly machine: Machine | undefined;
  readonly classNow: () => MachineClass | undefined;
  /**
   * @throws MachineError if the class does not exist or cannot be read
   */
  readonly requireClass: () => MachineClass;
  readonly secretsNow: () => ClassSecrets;
  /** The alternative that determines the part of the cloud that `list` searches, such as a zone. */
  readonly alternative?: Alternative | undefined;
  readonly onOverdue: OnOverdue | undefined;
  readonly progress: Progress;
}

/** The progress of a driver call. The outer stages read the progress after a failure. */
interface Progress {
  /** Whether the driver has received the request. */
  sent: boolean;
  /** The Secret objects in the cache may change during the call, so the call has copies. */
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
