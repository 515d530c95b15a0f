import { type Clock, makeKey } from '@mcm/kube';
import { MachineError } from '../../contract/errors.ts';
import { OPERATIONS } from '../../contract/operations.ts';
import type { ObserveCall } from '../api/invoker-api.ts';
import { type DriverTracer, startCall } from '../api/tracing.ts';
import type { Call, Stage, TracedCall } from './call.ts';

export interface ReportOptions {
  readonly provider: string;
  readonly clock: Clock;
  readonly tracer: DriverTracer | undefined;
  readonly observe: ObserveCall | undefined;
}

export const reportStage =
  ({ provider, clock, tracer, observe }: ReportOptions): Stage<Call, TracedCall> =>
  async (call, next) => {
    const { name, subject, machine } = call;
    const span = startCall(tracer, OPERATIONS[name], {
      provider,
      ...(machine
        ? { machine: makeKey(machine.metadata.namespace, machine.metadata.name), 'machine.uid': machine.metadata.uid }
        : { what: subject }),
    });
    const since = clock.monotonic();
    const report = (error: MachineError | undefined): void => {
      observe?.(name, clock.monotonic() - since, error, machine, machine && call.classNow());
      span.end(error);
    };
    try {
      const result = await next({ ...call, span });
      report(undefined);
      return result;
    } catch (thrown) {
      report(MachineError.from(thrown));
      throw thrown;
    }
  };
