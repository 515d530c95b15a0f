import { Annotations, type MachineDeployment } from '@mcm/api';
import type { Clock, Informer } from '@mcm/kube';
import { parseScaleIn, scaleInResults } from '../deployment/scaling/scale-in.ts';
import { AutoscalerError } from './problem.ts';

/** The manager must process a scale-in within this time, because the autoscaler repeats a request after 5 seconds. */
const PATIENCE_MS = 4_000;

export const pendingScaleIn = ({ metadata }: MachineDeployment): string | undefined =>
  metadata.annotations?.[Annotations.ScaleIn];

/** Returns true if an accepted scale-in contains the name of the machine. */
export const isAccepted = (deployment: MachineDeployment, machine: string): boolean =>
  scaleInResults(deployment).some(
    ({ outcome, message }) => outcome === 'Accepted' && message.split(/[ ,:]+/).includes(machine),
  );

/** Returns true if the manager has scaled the sets after the last change of the spec. */
export const isApplied = ({ metadata, status }: MachineDeployment): boolean =>
  status?.observedGeneration === metadata.generation;

const isNewer = (object: MachineDeployment, than: MachineDeployment): boolean =>
  BigInt(object.metadata.resourceVersion) > BigInt(than.metadata.resourceVersion);

export class ProcessedScaleIns {
  readonly #deployments: Informer<MachineDeployment>;
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();

  constructor(deployments: Informer<MachineDeployment>, clock: Clock) {
    this.#deployments = deployments;
    this.#clock = clock;
    deployments.onChange(() => {
      for (const look of this.#waiting) look();
    });
  }

  /** @throws AutoscalerError after 4 seconds */
  async none(id: string, deployment: MachineDeployment): Promise<void> {
    const text = pendingScaleIn(deployment);
    if (text === undefined) return;
    const parsed = parseScaleIn(text);
    const what = 'request' in parsed ? parsed.request.requestID : 'with an error';
    await this.#until(
      id,
      `processed scale-in ${what}`,
      (object) => isNewer(object, deployment) && pendingScaleIn(object) === undefined,
    );
  }

  /**
   * @throws AutoscalerError if the manager refuses the scale-in, or after 4 seconds
   */
  async accepted(id: string, requestID: string): Promise<void> {
    const resultOf = (object: MachineDeployment) => scaleInResults(object).find((each) => each.requestID === requestID);
    const deployment = await this.#until(
      id,
      `processed scale-in ${requestID}`,
      (object) => resultOf(object) !== undefined,
    );
    const result = resultOf(deployment);
    if (result && result.outcome !== 'Accepted')
      throw new AutoscalerError('FAILED_PRECONDITION', `${id}: ${result.message}`);
  }

  /**
   * Waits until the manager has applied the last change of the size. Without this wait, the manager could process a
   * scale-in before it has applied an earlier increase. The manager would then refuse the scale-in, and undo the
   * increase.
   * @throws AutoscalerError after 4 seconds
   */
  async applied(id: string, deployment: MachineDeployment): Promise<void> {
    const what = `applied the size ${deployment.spec.replicas ?? 0}`;
    await this.#until(id, what, (object) => isNewer(object, deployment) && isApplied(object));
  }

  async #until(
    id: string,
    what: string,
    isDone: (deployment: MachineDeployment) => boolean,
  ): Promise<MachineDeployment> {
    const { promise, resolve, reject } = Promise.withResolvers<MachineDeployment>();
    const look = (): void => {
      const deployment = this.#deployments.store.get(id);
      if (deployment === undefined)
        reject(new AutoscalerError('NOT_FOUND', `${id}: the MachineDeployment was deleted`));
      else if (isDone(deployment)) resolve(deployment);
    };
    const late = `${id}: the manager has not ${what} within ${PATIENCE_MS / 1000} s`;
    const timer = this.#clock.setTimeout(() => reject(new AutoscalerError('UNAVAILABLE', late)), PATIENCE_MS);
    this.#waiting.add(look);
    look();
    try {
      return await promise;
    } finally {
      timer.cancel();
      this.#waiting.delete(look);
    }
  }
}
