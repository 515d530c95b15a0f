import { SimulatedProcess } from '@mcm/conformance/fleet';
import { errorText, type UndiciTransportOptions } from '@mcm/kube';
import { runSingle } from '@mcm/kube/testing';
import { machineControllerManager } from '@mcm/machine-controller-manager';
import type { Writer } from './fences.ts';
import { controllerOf, dialOf, type ProgramName, type ReplicaParts } from './replica.ts';
import { kubeconfigOf, SEED } from './wires.ts';

export class SinglePod {
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;

  constructor(name: ProgramName, cluster: string, parts: ReplicaParts) {
    const { clock: time, random, log, reporter } = parts;
    const proc = new SimulatedProcess(undefined, () => undefined);
    const identity = `${name}-of-${cluster}`;
    const writer: Writer = { identity, lease: name, proc };
    const clock = proc.clock(time);
    const options = {
      host: { argv: [`--namespace=${cluster}`], clock, random, identity },
      dial: (given: UndiciTransportOptions) => dialOf(identity, writer, given, parts),
      log: log.with({ process: identity }),
      kubeconfig: kubeconfigOf(SEED),
      target: kubeconfigOf(cluster),
      signal: this.#stop.signal,
    };
    const running =
      name === 'machine-controller-manager'
        ? runSingle(machineControllerManager, options)
        : runSingle(controllerOf(writer, clock, parts), options);
    this.#ended = running.catch((error: unknown) => reporter.violate(`${identity} ended: ${errorText(error)}`));
  }

  /** Ends the process as SIGTERM does. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error('SIGTERM'));
    await this.#ended;
  }
}
