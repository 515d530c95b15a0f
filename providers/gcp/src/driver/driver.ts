import { createHash } from 'node:crypto';
import {
  type DriverContext,
  type DriverDefinition,
  type DriverRequest,
  defineDriver,
  type InstanceEvidence,
  isOthers,
  type ListedInstance,
  type ListRequest,
  listedTags,
  MachineError,
  type MachineRequest,
  observedCalls,
  ownerOf,
  ownerTags,
  refuseOthers,
  type VolumeSource,
} from '@mcm/core/driver';
import { type Clock, defined, sleep } from '@mcm/kube';
import { Gce, type Instance, type Operation } from '../gce/client.ts';
import { Refusal } from '../gce/refusal.ts';
import { readAccount } from '../login/account.ts';
import type { Account } from '../login/accounts.ts';
import type { TokenOptions } from '../login/token-options.ts';
import { createTokenSource } from '../login/tokens.ts';
import { PUBLIC_UNIVERSE } from '../login/universe.ts';
import { GcpCredentials, GcpProviderSpec } from '../spec/schemas.ts';
import { alternatives } from './alternatives.ts';
import { accountProblems, callText, decode } from './decode.ts';
import { fromCloud, OperationFailed } from './errors.ts';
import { reportEvidence } from './evidence.ts';
import { instanceBody } from './instance-body.ts';
import { type Subject, startInstance, stopInstance } from './power.ts';
import type { GcpSettings } from './settings.ts';
import { changeLabels } from './tags.ts';
import { marksOf } from './validate.ts';

/** The dependencies of the Google Cloud driver. */
export interface GcpDriverOptions extends DriverContext, GcpSettings {
  readonly readFile: TokenOptions['readFile'];
  /** Returns the value of the Authorization header, for clouds that do not accept tokens of Google. */
  readonly authorize?: ((account: Account, signal: AbortSignal) => Promise<string | undefined>) | undefined;
  readonly version?: string;
}

/** The driver for Compute Engine, with its spec and credentials. */
export type GcpDriver = DriverDefinition<GcpProviderSpec, GcpCredentials>;
type Request = DriverRequest<GcpProviderSpec, GcpCredentials>;
type OnMachine = MachineRequest<GcpProviderSpec, GcpCredentials>;

/** The pauses before the first reads of an operation. These pauses are short, because many operations end soon. */
const FIRST_LOOKS_MS: readonly number[] = [1_000, 2_000, 4_000];
const LOOK_MS = 5_000;
const LONGEST_MS = 300_000;
/**
 * The maximum number of used request IDs that a creation skips. For a used ID, Compute Engine returns the earlier
 * operation, which is already done.
 */
const REPLAYS = 5;
/** The maximum number of cached accounts. The least recently used account is removed first. */
const KEPT = 64;

interface Session {
  readonly gce: Gce;
  readonly project: string;
  readonly zone: string;
}

/** The driver of Google Compute Engine. */
export function createGcpDriver(options: GcpDriverOptions): GcpDriver {
  const { clock } = options;
  const open = sessions(options);
  const calls: Calls = { clock, failed: new Map() };

  return defineDriver({
    name: 'gcp',
    spacesRequests: true,
    providerSpec: GcpProviderSpec,
    credentialsSchema: GcpCredentials,
    decode,
    alternatives,
    check: ({ credentials, secrets }) => accountProblems(credentials, secrets, options),

    create: async (request) => {
      const { machine, signal } = request;
      const { name } = machine.metadata;
      try {
        const providerId = await counted(calls, request, 'instance_create', async () => {
          const session = open(request);
          await insert(calls, request, session);
          return providerIdOf(session, name);
        });
        return { providerId, nodeName: name, lastKnownState: `Created ${providerId}` };
      } catch (thrown) {
        throw fromCloud(thrown, callText({ call: 'create', machine }), signal, true);
      }
    },

    status: async (request) => {
      const { machine, signal } = request;
      const { name } = machine.metadata;
      try {
        const session = open(request);
        const found = await lookupOne(calls, request, session);
        if (!found) throw absent(request);
        refuseOthers(request, found.labels);
        const ending = ENDING.get(found.status ?? '');
        return { providerId: providerIdOf(session, name), nodeName: name, ending: ending || undefined };
      } catch (thrown) {
        throw fromCloud(thrown, callText({ call: 'status', machine }), signal);
      }
    },

    delete: async (request) => {
      const { machine, signal } = request;
      try {
        await counted(calls, request, 'instance_delete', async () => remove(calls, request, open(request)));
        return undefined;
      } catch (thrown) {
        throw fromCloud(thrown, callText({ call: 'delete', machine }), signal);
      }
    },

    ...changes(calls, open),

    evidence: async (request) => {
      const { machine, signal } = request;
      const getEvidence = (): Promise<InstanceEvidence> => reportEvidence(open(request), machine.metadata.name, signal);
      try {
        return await counted(calls, request, 'instance_get_evidence', getEvidence);
      } catch (thrown) {
        throw fromCloud(thrown, callText({ call: 'evidence', machine }), signal);
      }
    },

    list: async (request) => {
      try {
        return await counted(calls, request, 'instance_list', async () => listAll(calls, request, open(request)));
      } catch (thrown) {
        throw fromCloud(thrown, callText({ call: 'list' }), request.signal);
      }
    },

    volumeIds: (sources) => sources.map(volumeIdOf),
  });
}

function changes(
  calls: Calls,
  open: (request: OnMachine) => Session,
): Required<Pick<GcpDriver, 'stop' | 'start' | 'tag' | 'hibernates'>> {
  const subject = (request: OnMachine): Subject => {
    const session = open(request);
    const { name } = request.machine.metadata;
    const { clock } = calls;
    const until = (operation: Operation) => wait(calls, request, session, operation.name);
    return { ...session, name, clock, signal: request.signal, wait: until, absent: () => absent(request) };
  };
  const done = (request: OnMachine, call: 'stop' | 'start' | 'tag', work: () => Promise<void>): Promise<void> =>
    counted(calls, request, `instance_${call}`, work).catch((thrown: unknown) => {
      throw fromCloud(thrown, callText({ call, machine: request.machine }), request.signal, call === 'start');
    });
  return {
    hibernates: true,
    stop: (request) => done(request, 'stop', async () => stopInstance(subject(request), request.hibernate)),
    start: (request) => done(request, 'start', async () => startInstance(subject(request))),
    tag: (request) => done(request, 'tag', async () => changeLabels(subject(request), request.tags)),
  };
}

interface Calls {
  readonly clock: Clock;
  /**
   * The number of the next insertion by Machine UID. The request ID contains this number, because an insertion after a
   * failure needs a new ID.
   */
  readonly failed: Map<string, number>;
}

const counted = <T>({ clock }: Calls, { observeApi }: Request, service: string, work: () => Promise<T>): Promise<T> =>
  observedCalls(clock, observeApi)(service, work);

const lookup = (calls: Calls, request: Request, session: Session): Promise<readonly Instance[]> =>
  counted(calls, request, 'instance_get', () => find(request, session));

const wait = (calls: Calls, request: Request, session: Session, name: string): Promise<void> =>
  counted(calls, request, 'operations_get', () => untilDone(calls.clock, request.signal, session, name));

type Creation = OnMachine & { readonly userData: Uint8Array };

async function insert(calls: Calls, request: Creation, session: Session): Promise<void> {
  const { failed } = calls;
  const { machine, spec, userData, signal } = request;
  const { gce, project, zone } = session;
  const { name, uid } = machine.metadata;
  const labels = { ...spec.labels, ...ownerTags(request) };
  const body = instanceBody({ name, project, spec: { ...spec, labels }, userData });
  const first = failed.get(uid) ?? 0;
  for (let attempt = first; ; attempt++) {
    let started: Operation | undefined;
    try {
      started = await gce.insert(project, zone, body, requestIdOf(`insert ${uid} ${attempt}`), signal);
      // If the operation is already done, an earlier request used the request ID. If its VM no longer exists, the
      // driver tries the next ID.
      if (started.status === 'DONE' && attempt < first + REPLAYS && !(await isThere(session, name, signal))) continue;
      await wait(calls, request, session, started.name);
      failed.delete(uid);
    } catch (thrown) {
      if (thrown instanceof OperationFailed) failed.set(uid, attempt + 1);
      if (started || !(await isOurs(request, session, thrown))) throw thrown;
    }
    return;
  }
}

async function remove(calls: Calls, request: OnMachine, session: Session): Promise<void> {
  const { machine, signal } = request;
  const { name, uid } = machine.metadata;
  calls.failed.delete(uid);
  const found = await lookupOne(calls, request, session);
  if (!found || isOthers(request, found.labels)) throw absent(request);
  const requestId = requestIdOf(`delete ${uid} ${calls.clock.now().getTime()}`);
  const started = await removal(session, name, requestId, signal);
  if (started) await wait(calls, request, session, started.name);
}

/** Lists the instances of a class. */
async function listAll(
  calls: Calls,
  request: ListRequest<GcpProviderSpec, GcpCredentials>,
  session: Session,
): Promise<readonly ListedInstance[]> {
  const named = (await lookup(calls, request, session)).filter(({ name = '' }) => name !== '');
  return named.map(({ name = '', creationTimestamp, labels }) =>
    defined({
      providerId: providerIdOf(session, name),
      machineName: name,
      createdAt: creationTimestamp || undefined,
      ...ownerOf(labels),
      ...listedTags(labels, request.tagKeys),
    }),
  );
}

const BEARER = 'Bearer ';

/**
 * Returns a function that opens sessions. The driver caches clients by account. A cached client keeps its tokens and
 * learned rates.
 */
function sessions(options: GcpDriverOptions): (request: Request | OnMachine) => Session {
  const { clock, connect, universe, version = '0.1.0' } = options;
  const endpoint = options.endpoint ?? `https://compute.${universe ?? PUBLIC_UNIVERSE}`;
  const clients = new Map<string, Gce>();
  const make = (account: Account): Gce => {
    const token = createTokenSource(account, options);
    const authorize = async (signal: AbortSignal): Promise<string | undefined> =>
      options.authorize ? options.authorize(account, signal) : `${BEARER}${await token.get(signal)}`;
    const refused = (authorization: string): void => token.refused(authorization.slice(BEARER.length));
    const rates = options.rates?.of(['gcp', endpoint, account]);
    return new Gce({ clock, connect, endpoint, userAgent: `mcm/${version}`, authorize, refused, rates });
  };
  return (request) => {
    const { spec, credentials } = request;
    const account = readAccount(credentials, options);
    const key = JSON.stringify(account);
    const gce = clients.get(key) ?? make(account);
    clients.delete(key);
    clients.set(key, gce);
    for (const [oldest] of clients) if (clients.size > KEPT) clients.delete(oldest);
    const { project } = account;
    return { gce, project, zone: zoneOnRecord(request, project) ?? spec.zone ?? '' };
  };
}

/** The states of an instance that does not run, with their texts. A stopped instance has the state TERMINATED. */
const ENDING: ReadonlyMap<string, string> = new Map([
  ['STOPPING', 'being stopped or deleted'],
  ['TERMINATED', 'stopped'],
  ['SUSPENDING', 'being suspended'],
  ['SUSPENDED', 'suspended'],
]);

/** Returns the zone in the provider ID. For an orphan, no other object contains the zone. */
function zoneOnRecord(request: Request | OnMachine, project: string): string | undefined {
  const machine = 'machine' in request ? request.machine : undefined;
  const [, owner, zone, name] = /^gce:\/\/\/([^/]+)\/([^/]+)\/([^/]+)$/.exec(machine?.spec.providerID ?? '') ?? [];
  return owner === project && name === machine?.metadata.name ? zone : undefined;
}

const providerIdOf = ({ project, zone }: Session, name: string): string => `gce:///${project}/${zone}/${name}`;

const absent = ({ machine }: OnMachine): MachineError =>
  new MachineError('NotFound', `machine name=${machine.metadata.name}, uuid=${machine.metadata.uid} not found`);

const sameMarks = (spec: GcpProviderSpec, { tags }: Instance): boolean => {
  const [ours, theirs] = [marksOf(spec.tags ?? []), marksOf(tags?.items ?? [])];
  return ours.cluster === theirs.cluster && ours.role === theirs.role;
};

/** Finds the instance of a machine. If the class has no cluster tag and role tag, the driver sends no request. */
function lookupOne(calls: Calls, request: OnMachine, { gce, project, zone }: Session): Promise<Instance | undefined> {
  const { machine, spec, signal } = request;
  return counted(calls, request, 'instance_get', async () => {
    if (!isMarked(spec)) return undefined;
    const named = await gce.named(project, zone, machine.metadata.name, signal);
    return named.find((each) => sameMarks(spec, each));
  });
}

const isMarked = ({ tags = [] }: GcpProviderSpec): boolean => {
  const { cluster, role } = marksOf(tags);
  return cluster !== undefined && role !== undefined;
};

/** Lists the instances that have the cluster tag and the role tag of the class. */
async function find({ spec, signal }: Request, { gce, project, zone }: Session): Promise<readonly Instance[]> {
  if (!isMarked(spec)) return [];
  return (await gce.list(project, zone, signal)).filter((each) => sameMarks(spec, each));
}

async function isThere({ gce, project, zone }: Session, name: string, signal: AbortSignal): Promise<boolean> {
  try {
    await gce.get(project, zone, name, signal);
    return true;
  } catch (thrown) {
    if (thrown instanceof Refusal && thrown.absent) return false;
    throw thrown;
  }
}

/** Returns true if Google refused an insertion because an earlier insertion for the Machine succeeded. */
async function isOurs(request: OnMachine, session: Session, thrown: unknown): Promise<boolean> {
  const { machine, spec, signal } = request;
  if (!(thrown instanceof Refusal && thrown.status === 409)) return false;
  try {
    const found = await session.gce.get(session.project, session.zone, machine.metadata.name, signal);
    return sameMarks(spec, found) && !ENDING.has(found.status ?? '') && !isOthers(request, found.labels);
  } catch {
    return false;
  }
}

async function removal(
  { gce, project, zone }: Session,
  name: string,
  requestId: string,
  signal: AbortSignal,
): Promise<Operation | undefined> {
  try {
    return await gce.delete(project, zone, name, requestId, signal);
  } catch (thrown) {
    if (thrown instanceof Refusal && thrown.absent) return undefined;
    throw thrown;
  }
}

async function untilDone(clock: Clock, signal: AbortSignal, session: Session, name: string): Promise<void> {
  const until = clock.now().getTime() + LONGEST_MS;
  for (let looks = 0; clock.now().getTime() < until; looks++) {
    await sleep(clock, FIRST_LOOKS_MS[looks] ?? LOOK_MS, signal);
    const { status, error } = await session.gce.operation(session.project, session.zone, name, signal);
    if (status !== 'DONE') continue;
    if (error) throw new OperationFailed(error.errors ?? []);
    return;
  }
  throw new Error('timed out waiting for the condition');
}

/**
 * Returns a UUID that is computed from a text. Compute Engine executes only one of several requests with an equal UUID.
 */
function requestIdOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
}

function volumeIdOf({ gcePersistentDisk, csi }: VolumeSource): string | undefined {
  if (typeof gcePersistentDisk === 'object' && gcePersistentDisk !== null) {
    const { pdName = '' } = gcePersistentDisk as { readonly pdName?: unknown };
    return String(pdName);
  }
  return csi?.driver === 'pd.csi.storage.gke.io' && csi.volumeHandle ? csi.volumeHandle : undefined;
}
