import { Annotations, type Machine, machines } from '@mcm/api';
import { isNotFound, type Transport } from '@mcm/kube';
import { BOUNDS } from '../record/bounds.ts';
import { NAMESPACE, type World } from '../world/world.ts';

interface Offering {
  readonly zone: string;
  readonly machineType: string;
}

export const ALTERNATIVES = JSON.stringify([{ zone: 'local-b' }, { zone: 'local-c', machineType: 'large' }]);

const OFFERINGS: Readonly<Record<string, string>> = {
  '{}': 'local-a ',
  '{"zone":"local-b"}': 'local-b ',
  '{"machineType":"large","zone":"local-c"}': 'local-c large',
};

interface Known {
  acceptedUntil: number;
  refusedAt: number | undefined;
  /** How many calls were sent after the refusal and still wait for a response. */
  probes: number;
}

/**
 * Reports wrong requests to the cloud. These rules apply:
 * - A request for a VM contains an offering of the class of its Machine, and the Machine records this offering.
 * - The VM that the cloud returns has this offering.
 * - After a refusal, no request contains the offering until the wait is over.
 */
export class CapacityVerifier {
  readonly #offerings = new Set(Object.values(OFFERINGS));
  #world: World | undefined;
  #verified = 0;

  get verified(): number {
    return this.#verified;
  }

  attach(world: World): void {
    this.#world = world;
  }

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

  #verifyVm(world: World, { name, zone }: Named): void {
    const vms = [...world.cloud.instances.list()].filter((vm) => vm.name === name && vm.state !== 'terminated');
    for (const vm of vms)
      if (vm.zone !== zone)
        world.reporter.violate(`machine ${name} requested zone ${zone}, but its VM is in zone ${vm.zone}`);
  }

  #begin(world: World, { refusedAt, probes, acceptedUntil }: Known, key: string, now: number): void {
    if (!this.#offerings.has(key))
      world.reporter.violate(`mcm requested a VM for offering ${key}, which no class contains`);
    if (refusedAt === undefined || now <= acceptedUntil) return;
    if (now < refusedAt + BOUNDS.offeringClosed.ms)
      world.reporter.violate(`mcm requested offering ${key} again ${now - refusedAt} ms after the cloud refused it`);
    if (probes > 0)
      world.reporter.violate(`${probes + 1} machines requested the refused offering ${key} at the same time`);
  }

  #refused(world: World, entry: Known, isProbe: boolean): void {
    if (entry.refusedAt !== undefined && !isProbe) return;
    this.#verified++;
    const lagMs = BOUNDS.offeringPrepared.ms + world.network.lagMs('machine-controller', 'machines');
    const now = world.clock.now().getTime();
    if (entry.refusedAt === undefined) entry.acceptedUntil = now + lagMs;
    entry.refusedAt = now;
  }

  /** Verifies that the Machine contained the offering before the call. */
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
          world.reporter.violate(`machine ${name} records the offering ${record}, but requested ${key}`);
      })
      .catch(violate);
  }
}

type Named = Offering & { readonly name: string };

/** Returns true if a response refuses an offering. */
const isRefusal = (status: number): boolean => status === 409;

function offeringOf(path: string, body: string): Named | undefined {
  if (!path.startsWith('/v1/instances?')) return undefined;
  const { name, zone = '', machineType = '' } = JSON.parse(body) as Partial<Offering> & { readonly name: string };
  return { name, zone, machineType };
}
