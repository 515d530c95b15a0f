import type { Pod } from '@mcm/kube';

export interface CloudInstance {
  readonly id: string;
  readonly name: string;
  readonly clientToken?: string;
  readonly state: 'pending' | 'running' | 'shutting-down' | 'terminated';
  readonly terminatedAt?: string;
}

export interface KnownMachine {
  readonly uid: string;
  readonly name: string;
  readonly isGoing: boolean;
}

interface SeenPod {
  readonly name: string;
  readonly node: string;
  readonly boundAt: number;
  goesAt: number;
}

const UNKNOWN_MS = 2_000;
/** The API server rounds times down to seconds. */
const ROUNDING_MS = 1_000;

const millis = (text: string | undefined): number => (text === undefined ? Number.NaN : Date.parse(text));

/** Records the VMs of the cloud and the pods over time. */
export class FleetRecord {
  readonly violations: string[] = [];
  readonly #pods = new Map<string, SeenPod>();
  readonly #machines = new Map<string, KnownMachine>();
  readonly #verified = new Set<string>();
  readonly #doubled = new Set<string>();

  get verified(): number {
    return this.#verified.size;
  }

  #violate(text: string): void {
    this.violations.push(text);
  }

  pod({ metadata, spec, status }: Pod, now: number): void {
    if (spec.nodeName === undefined) return;
    const seen = this.#pods.get(metadata.uid) ?? {
      name: metadata.name,
      node: spec.nodeName,
      boundAt: now,
      goesAt: Number.POSITIVE_INFINITY,
    };
    this.#pods.set(metadata.uid, seen);
    const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = metadata;
    if (deletionTimestamp)
      seen.goesAt = Math.min(seen.goesAt, millis(deletionTimestamp) - (deletionGracePeriodSeconds ?? 0) * 1_000);
    if (status?.phase === 'Succeeded' || status?.phase === 'Failed') seen.goesAt = Math.min(seen.goesAt, now);
  }

  podGone(pod: Pod, now: number): void {
    this.pod(pod, now);
    const seen = this.#pods.get(pod.metadata.uid);
    if (seen) seen.goesAt = Math.min(seen.goesAt, now);
  }

  machine(machine: KnownMachine): void {
    this.#machines.set(machine.uid, machine);
  }

  machineGone(uid: string): void {
    const known = this.#machines.get(uid);
    if (known) this.#machines.set(uid, { ...known, isGoing: true });
  }

  /** @param knownUntil Up to this time, the record of pods and machines is complete. */
  verify(instances: readonly CloudInstance[], knownUntil: number): void {
    this.#verifyDoubles(instances);
    for (const instance of instances) {
      const endedAt = millis(instance.terminatedAt);
      if (instance.state !== 'terminated' || this.#verified.has(instance.id) || !(endedAt < knownUntil)) continue;
      this.#verified.add(instance.id);
      this.#verifyEnd(instance, endedAt);
    }
  }

  #verifyDoubles(instances: readonly CloudInstance[]): void {
    const living = new Map<string, string>();
    for (const { id, name, clientToken = id, state } of instances) {
      if (state === 'terminated') continue;
      const other = living.get(clientToken);
      if (other !== undefined && !this.#doubled.has(clientToken))
        this.#violate(`Machine ${name} has two VMs: ${other} and ${id}`);
      if (other !== undefined) this.#doubled.add(clientToken);
      living.set(clientToken, id);
    }
  }

  #verifyEnd({ id, name, clientToken = '' }: CloudInstance, endedAt: number): void {
    const machine = this.#machines.get(clientToken);
    if (machine && !machine.isGoing) this.#violate(`mcm deleted VM ${id} of ${name} without a deletion of its Machine`);
    const left = [...this.#pods.values()].filter(
      ({ node, boundAt, goesAt }) => node === name && boundAt < endedAt - UNKNOWN_MS && goesAt > endedAt + ROUNDING_MS,
    );
    if (left.length > 0)
      this.#violate(`mcm deleted VM ${id} of ${name} with running pods ${left.map((pod) => pod.name).join(', ')}`);
  }

  verifyRest(instances: readonly CloudInstance[], machines: readonly KnownMachine[]): void {
    const living = new Set(
      instances.flatMap(({ state, clientToken = '' }) => (state === 'running' ? clientToken : [])),
    );
    const uids = new Set(machines.map(({ uid }) => uid));
    for (const { uid, name } of machines) if (!living.has(uid)) this.#violate(`Machine ${name} has lost its VM`);
    for (const { id, name, clientToken = '', state } of instances)
      if (state === 'running' && !uids.has(clientToken)) this.#violate(`VM ${id} of ${name} has no Machine`);
  }
}
