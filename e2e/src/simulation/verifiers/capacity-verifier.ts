import { Annotations, type Machine, machines } from '@mcm/api';
import { isNotFound, type Transport } from '@mcm/kube';
import { BOUNDS } from '../record/bounds.ts';
import { NAMESPACE, type World } from '../world/world.ts';

interface Offering {
  readonly zone: string;
  readonly machineType: string;
}

/** The alternatives of all classes in these histories, as the text of the annotation. */
export const ALTERNATIVES = JSON.stringify([{ zone: 'local-b' }, { zone: 'local-c', machineType: 'large' }]);

/** The offerings of the classes in these histories, by the text that mcm records on the Machine. */
const OFFERINGS: Readonly<Record<string, string>> = {
  '{}': 'local-a ',
  '{"zone":"local-b"}': 'local-b ',
  '{"machineType":"large","zone":"local-c"}': 'local-c large',
};

/** The data that one process has about an offering. */
interface Known {
  /**
   * The time until which the verifier accepts requests, because their calls may have started before the first refusal.
   */
  acceptedUntil: number;
  /** The time of the last refusal in virtual milliseconds, or undefined after a success. */
  refusedAt: number | undefined;
  /** The number of calls after the refusal that have no response yet. */
  probes: number;
}

/**
 * Reports wrong calls to the cloud:
 * - A VM is requested only for an offering of its class, and only for the offering that is recorded on its Machine.
 * - The cloud returns a VM with this offering.
 * - After a refusal, no call requests the offering until the wait is over. After the wait, only one call at a time
 *   requests the offering.
 */
export class CapacityVerifier {
  readonly #offerings = new Set(Object.values(OFFERINGS));
  #world: World | undefined;
  #verified = 0;

  get verified(): number {
    return this.#verified;
  }

  /** Connects the verifier to the simulation, whose options already contain the verifier. */
  attach(world: World): void {
    this.#world = world;
  }

  /** Wraps the requests of one process to the cloud. */
  readonly wrap = (transport: Transport): Transport => {
    const known = new Map<string, Known>();
    return async (request) => {
      const world = this.#world;
      const offering = request.method === 'POST' ? offeringOf(request.path, String(request.body)) : undefined;
      if (!world || !offering) return transport(request);
      const now = world.clock.now().getTime();
      const key = `${offering.zone} ${offering.machineType}`;
      const entry = known.get(key) ?? { acceptedUntil: 0, refusedAt: undefined, probes: 0 };
      known.set(key, entry);
      this.#begin(world, entry, key, now);
      this.#verifyRecord(world, offering.name, key);
      const isProbe = entry.refusedAt !== undefined && now > entry.acceptedUntil;
      if (isProbe) entry.probes += 1;
      try {
        const answer = await transport(request);
        if (isRefusal(answer.status)) this.#refused(world, entry, isProbe);
        else if (answer.status < 300 && isProbe) entry.refusedAt = undefined;
        if (answer.status < 300) this.#verifyVm(world, offering);
        return answer;
      } finally {
        if (isProbe) entry.probes -= 1;
      }
    };
  };

  /**
   * Verifies the zone of the VM. A repeated call finds the VM of the first call. The offering of this VM must equal the
   * record on the Machine.
   */
  #verifyVm(world: World, { name, zone }: Named): void {
    const vms = [...world.cloud.instances.list()].filter((vm) => vm.name === name && vm.state !== 'terminated');
    for (const vm of vms)
      if (vm.zone !== zone) world.reporter.violate(`${name} requested zone ${zone}, but its VM is in ${vm.zone}`);
  }

  #begin(world: World, { refusedAt, probes, acceptedUntil }: Known, key: string, now: number): void {
    if (!this.#offerings.has(key)) world.reporter.violate(`mcm requested a VM for ${key}, which no class contains`);
    if (refusedAt === undefined || now <= acceptedUntil) return;
    if (now < refusedAt + BOUNDS.offeringClosed.ms)
      world.reporter.violate(`mcm requested offering ${key} only ${now - refusedAt} ms after a refusal`);
    if (probes > 0)
      world.reporter.violate(`${probes + 1} machines tested the refused offering ${key} at the same time`);
  }

  /** Records a refusal. A refusal has no effect if its call started before an earlier refusal. */
  #refused(world: World, entry: Known, isProbe: boolean): void {
    if (entry.refusedAt !== undefined && !isProbe) return;
    this.#verified++;
    const lagMs = BOUNDS.offeringPrepared.ms + world.network.lagMs('machine-controller', 'machines');
    const now = world.clock.now().getTime();
    if (entry.refusedAt === undefined) entry.acceptedUntil = now + lagMs;
    entry.refusedAt = now;
  }

  /**
   * Verifies that the offering was recorded on the Machine before the call. The record cannot change during the call.
   */
  #verifyRecord(world: World, name: string, key: string): void {
    const violate = (error: unknown): void => {
      if (!isNotFound(error)) world.reporter.violate(String(error));
    };
    void world.admin
      .resource<Machine>(machines, NAMESPACE)
      .get(name)
      .then(({ metadata }) => {
        const record = metadata.annotations?.[Annotations.CapacityOffering] ?? 'none';
        if (OFFERINGS[record] !== key)
          world.reporter.violate(`${name} records the offering ${record}, but requested ${key}`);
      })
      .catch(violate);
  }
}

type Named = Offering & { readonly name: string };

/**
 * Whether a response is a refusal. A creation of the local cloud returns no other conflict than `InsufficientCapacity`.
 */
const isRefusal = (status: number): boolean => status === 409;

function offeringOf(path: string, body: string): Named | undefined {
  if (!path.startsWith('/v1/instances?')) return undefined;
  const { name, zone = '', machineType = '' } = JSON.parse(body) as Partial<Offering> & { readonly name: string };
  return { name, zone, machineType };
}
