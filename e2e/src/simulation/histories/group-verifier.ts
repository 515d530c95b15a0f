import { Annotations, type MachineDeployment, machineDeployments } from '@mcm/api';
import type { Change } from '@mcm/kube';
import { follow } from '../verifiers/follow.ts';
import type { ScalerVerifier } from '../verifiers/scaler-verifier.ts';
import type { World } from '../world/world.ts';

/** An increase that the autoscaler has requested. */
export interface Increase {
  readonly by: number;
  /** Whether this increase has changed the replicas. */
  isDone: boolean;
  isConfirmed: boolean;
}

/**
 * Verifies each change of the replicas. Only requests to the autoscaler port change the replicas, with these rules:
 * - Each increase of the replicas matches one request, and each request causes at most one increase.
 * - Each write that reduces the replicas also contains the names of the removed machines. The autoscaler has requested
 *   the removal of each named machine, and no two writes contain the same name.
 * - The manager restores the replicas only in the write that refuses a removal.
 */
export class GroupVerifier {
  readonly #world: World;
  readonly #scaler: ScalerVerifier;
  readonly #increases: Increase[] = [];
  readonly #removed = new Set<string>();
  #replicas: number;
  #verified = 0;

  private constructor(world: World, scaler: ScalerVerifier, replicas: number) {
    this.#world = world;
    this.#scaler = scaler;
    this.#replicas = replicas;
  }

  /** Runs the verifier until `signal` aborts. */
  static watch(world: World, scaler: ScalerVerifier, replicas: number, signal: AbortSignal): GroupVerifier {
    const verifier = new GroupVerifier(world, scaler, replicas);
    follow<MachineDeployment>(world, machineDeployments, signal, (change) => verifier.#changed(change));
    return verifier;
  }

  /** The replicas after the last change. */
  get replicas(): number {
    return this.#replicas;
  }

  /** The number of verified changes of the replicas. */
  get verified(): number {
    return this.#verified;
  }

  /** Records the request of an increase before it is sent. */
  requests(by: number): Increase {
    const increase = { by, isDone: false, isConfirmed: false };
    this.#increases.push(increase);
    this.#scaler.rises(by);
    return increase;
  }

  /**
   * Verifies that the replicas have changed before the manager confirms an increase. If several increases are equal,
   * the verifier does not know which of them changed the replicas.
   */
  confirms(increase: Increase): void {
    const done = this.#increases.find(({ by, isDone, isConfirmed }) => by === increase.by && isDone && !isConfirmed);
    if (done) done.isConfirmed = true;
    else
      this.#world.reporter.violate(
        `the manager confirms ${increase.by} more machines, but the replicas did not change`,
      );
  }

  #changed(change: Change<MachineDeployment>): void {
    if (change.type !== 'updated') return;
    const { object, old } = change;
    const replicas = object.spec.replicas ?? 0;
    const by = replicas - (old.spec.replicas ?? 0);
    const isRefused = this.#refused(old, object);
    if (by === 0) return;
    this.#verified++;
    this.#replicas = replicas;
    this.#world.expects(replicas);
    if (by < 0) this.#fell(-by, object, old);
    else if (!isRefused) this.#rose(by);
  }

  #rose(by: number): void {
    const increase = this.#increases.find((one) => one.by === by && !one.isDone);
    if (increase) increase.isDone = true;
    else this.#world.reporter.violate(`the replicas rise by ${by}, but the autoscaler did not request this change`);
  }

  #fell(by: number, object: MachineDeployment, old: MachineDeployment): void {
    const { reporter } = this.#world;
    const text = scaleInOf(object);
    if (text === undefined || text === scaleInOf(old)) {
      reporter.violate(`the replicas fall by ${by}, but the same write does not contain the names of the machines`);
      return;
    }
    const { machines }: { readonly machines: readonly string[] } = JSON.parse(text);
    if (machines.length !== by)
      reporter.violate(`the replicas fall by ${by}, but the request names the machines ${machines}`);
    for (const name of machines) {
      if (this.#removed.has(name)) reporter.violate(`two writes remove machine ${name}`);
      if (!this.#scaler.isNamed(name)) reporter.violate(`a write removes ${name}, which the autoscaler did not name`);
      this.#removed.add(name);
    }
  }

  /**
   * Returns true if the manager has refused a scale-in. The manager must restore the replicas and keep the named
   * machines.
   */
  #refused(old: MachineDeployment, object: MachineDeployment): boolean {
    const text = scaleInOf(old);
    const results = object.metadata.annotations?.[Annotations.ScaleInResults] ?? '';
    if (text === undefined || scaleInOf(object) !== undefined || !/^\[\{[^}]*"Refused"/.test(results)) return false;
    const { machines, from }: { readonly machines: readonly string[]; readonly from: number } = JSON.parse(text);
    for (const name of machines) this.#removed.delete(name);
    if (object.spec.replicas !== from)
      this.#world.reporter.violate(
        `the manager refuses a scale-in, but sets ${object.spec.replicas} replicas instead of ${from}`,
      );
    return true;
  }
}

const scaleInOf = ({ metadata }: MachineDeployment): string | undefined => metadata.annotations?.[Annotations.ScaleIn];
