import type { Machine, MachineDeployment } from '@mcm/api';
import { type Clock, errorText, isForbidden, isNotFound, type KubeClient, type Lease, leases, sleep } from '@mcm/kube';
import {
  assessControllers,
  CONTROLLER_NAMES,
  type ControllerHealth,
  type ControllerName,
  looksExpired,
} from './health.ts';

const SECOND_LOOK_MS = 3_000;
const LOOK_EVERY_MS = 500;
const MOST_SKEW_MS = 600_000;

export interface ControllerReading {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly clock: Clock;
  readonly deployments?: readonly MachineDeployment[];
  readonly machines?: readonly Machine[];
  /** The controllers whose Leases are read. By default, these are all controllers. */
  readonly names?: readonly ControllerName[];
  /** Returns the programs of the local instance that do not respond. */
  readonly programs?: (() => readonly ControllerHealth[]) | undefined;
}

/**
 * Reads the Leases of the controllers and determines whether the controllers work. If a Lease looks expired, mcm
 * observes the Lease for 3 s, because clocks may differ.
 * @throws KubeError if the API server does not respond
 */
export async function readControllers(reading: ControllerReading): Promise<readonly ControllerHealth[]> {
  const { clock, deployments = [], machines = [], names = CONTROLLER_NAMES } = reading;
  const found = await Promise.all(names.map((name) => readLease(reading, name)));
  const renewed = await Promise.all(found.map((one) => secondLook(reading, one)));
  const known = new Map<string, Lease>();
  const refused = new Map<string, string>();
  found.forEach(({ name, lease, refusal }, index) => {
    if (lease)
      known.set(
        name,
        renewed[index] ? { ...lease, spec: { ...lease.spec, renewTime: clock.now().toISOString() } } : lease,
      );
    if (refusal !== undefined) refused.set(name, refusal);
  });
  const health = assessControllers({ leases: known, deployments, machines, refused }, clock.now());
  const asked: readonly string[] = names;
  return [...health.filter(({ name }) => asked.includes(name)), ...(reading.programs?.() ?? [])];
}

interface Found {
  readonly name: string;
  readonly lease?: Lease;
  readonly refusal?: string;
}

async function readLease({ client, namespace }: ControllerReading, name: string): Promise<Found> {
  try {
    return { name, lease: await client.resource<Lease>(leases, namespace).get(name) };
  } catch (error) {
    if (isNotFound(error)) return { name };
    if (isForbidden(error)) return { name, refusal: errorText(error) };
    throw error;
  }
}

async function secondLook(reading: ControllerReading, { name, lease }: Found): Promise<boolean> {
  const { clock } = reading;
  const renewTime = lease?.spec?.renewTime ?? '';
  if (lease === undefined || !looksExpired(lease, clock.now())) return false;
  if (clock.now().getTime() - Date.parse(renewTime) > MOST_SKEW_MS) return false;
  for (let waited = 0; waited < SECOND_LOOK_MS; waited += LOOK_EVERY_MS) {
    await sleep(clock, LOOK_EVERY_MS);
    const again = (await readLease(reading, name)).lease?.spec?.renewTime;
    if (again && again !== renewTime) return true;
  }
  return false;
}
