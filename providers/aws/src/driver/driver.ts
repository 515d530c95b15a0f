import {
  type DriverContext,
  type DriverDefinition,
  defineDriver,
  type FoundInstance,
  type ListedInstance,
  type ListRequest,
  listedTags,
  MachineError,
  type ObservedCall,
  observedCalls,
  ownerOf,
  ownerTags,
  type Instance as Reported,
} from '@mcm/core/driver';
import type { Clock } from '@mcm/kube';
import { type Ec2, ec2Clients, type Instance } from '../ec2/client.ts';
import type { Environment } from '../ec2/environment.ts';
import type { AwsSettings } from '../ec2/settings.ts';
import { NoticeQueue } from '../notices/queue.ts';
import { formatProviderId, instanceIdOf } from '../spec/provider-id.ts';
import { AwsCredentials, AwsProviderSpec } from '../spec/schemas.ts';
import { alternatives } from './alternatives.ts';
import { type Change, changeTags, startInstance, stopInstance } from './changes.ts';
import { createInstance } from './create.ts';
import { decode } from './decode.ts';
import { EndedInstances } from './ended-instances.ts';
import { fromCloud, isAbsentInstance, isExhausted } from './errors.ts';
import { reportEvidence } from './evidence.ts';
import { FreshInstances } from './fresh-instances.ts';
import { initializeInstance, requireInitialized } from './initialize.ts';
import { findByName, findMachine, listByTags, type OnMachine, type Request } from './lookup.ts';
import { NAME_TAG } from './run-instances.ts';
import { volumeIdOf } from './volumes.ts';

/** The environment of the AWS driver. */
export interface AwsDriverOptions extends DriverContext {
  readonly environment: Environment;
  /** Without settings, the environment variables and the shared files determine the endpoints. */
  readonly settings?: AwsSettings;
  readonly visibilityBudgetMs?: number | undefined;
  readonly version?: string;
}

/** The driver for EC2, with its spec and credentials. */
export type AwsDriver = DriverDefinition<AwsProviderSpec, AwsCredentials>;

type Listing = ListRequest<AwsProviderSpec, AwsCredentials>;

const VISIBILITY_BUDGET_MS = 300_000;

/** The driver of AWS EC2. */
export function createAwsDriver(options: AwsDriverOptions): AwsDriver {
  const { clock, random } = options;
  const connectTo = connector(options);
  const fresh = new FreshInstances(clock);
  const gone = new EndedInstances(clock);
  const timed = ({ observeApi }: Request): ObservedCall => observedCalls(clock, observeApi);

  return defineDriver({
    name: 'aws',
    spacesRequests: true,
    providerSpec: AwsProviderSpec,
    credentialsSchema: AwsCredentials,
    decode,
    alternatives,

    create: async (request) => {
      const ec2 = await connectTo(request);
      const { visibilityBudgetMs = VISIBILITY_BUDGET_MS } = options;
      const wait = { clock, random, visibilityBudgetMs };
      const { spec } = request;
      const marked = { ...request, spec: { ...spec, tags: { ...spec.tags, ...ownerTags(request) } } };
      const { created, seen } = await createInstance(ec2, marked, wait, timed(request));
      fresh.put(request.machine, seen);
      return created;
    },

    initialize: async (request) => {
      const ec2 = await connectTo(request, 'Uninitialized');
      const known = fresh.take(request.machine);
      const found = known ? Promise.resolve([known]) : findTimed(ec2, request, gone, timed(request));
      const [instance] = await found.catch((thrown: unknown) => {
        throw uninitialized(fromCloud(thrown, request.signal));
      });
      if (!instance) throw new MachineError('Uninitialized', 'no instance exists');
      await initializeInstance(ec2, request, instance, timed(request), known !== undefined);
      return describe(request, instance);
    },

    status: async (request) => {
      const ec2 = await connectTo(request);
      return statusOf(request, await findTimed(ec2, request, gone, timed(request)));
    },

    delete: async (request) => {
      const ids = await idsToDelete(request, connectTo, gone, timed(request));
      const ec2 = await connectTo(request);
      for (const id of ids) {
        await timed(request)('instance_terminate', () => terminate(ec2, id, request.signal));
        gone.add(id);
      }
      return undefined;
    },

    ...changes(clock, connectTo, timed),

    evidence: async (request) => {
      const ec2 = await connectTo(request);
      return reportEvidence(ec2, request, timed(request)).catch((thrown: unknown) => {
        throw fromCloud(thrown, request.signal);
      });
    },

    list: async (request) => {
      const ec2 = await connectTo(request);
      try {
        return (await listByTags(ec2, request)).flatMap((each) => listed(request, each));
      } catch (thrown) {
        throw fromCloud(thrown, request.signal);
      }
    },

    ...(options.settings?.interruptionQueue ? watching(options.settings.interruptionQueue, connectTo, timed) : {}),

    volumeIds: (sources) => sources.map(volumeIdOf),
  });
}

function changes(
  clock: Clock,
  connectTo: (request: Request) => Promise<Ec2>,
  timed: (request: Request) => ObservedCall,
): Required<Pick<AwsDriver, 'stop' | 'start' | 'tag' | 'hibernates'>> {
  const change = async (request: OnMachine): Promise<Change> => ({
    ec2: await connectTo(request),
    request,
    clock,
    timed: timed(request),
  });
  return {
    hibernates: true,
    stop: async (request) => stopInstance(await change(request), request.hibernate),
    start: async (request) => startInstance(await change(request)),
    tag: async (request) => changeTags(await change(request), request.tags),
  };
}

function watching(
  queueName: string,
  connectTo: (request: Request) => Promise<Ec2>,
  timed: (request: Request) => ObservedCall,
): Pick<AwsDriver, 'watchInterruptions' | 'interruptionSource'> {
  const queues = new WeakMap<Ec2, NoticeQueue>();
  return {
    watchInterruptions: async (request) => {
      try {
        const ec2 = await connectTo(request);
        const queue = queues.get(ec2) ?? (await NoticeQueue.open(ec2.session, queueName));
        queues.set(ec2, queue);
        await queue.wait({ notify: request.notify, timed: timed(request), signal: request.signal });
      } catch (thrown) {
        throw fromCloud(thrown, request.signal);
      }
    },
    interruptionSource: ({ providerSpec, secretRef, credentialsSecretRef }) =>
      JSON.stringify([regionOf(providerSpec), secretRef, credentialsSecretRef]),
  };
}

const regionOf = (spec: unknown): unknown =>
  typeof spec === 'object' && spec !== null && 'region' in spec ? spec.region : undefined;

function connector(options: AwsDriverOptions) {
  const { clock, random, connect, rates, environment, settings = {}, version = '0.1.0' } = options;
  const clients = ec2Clients({
    clock,
    random,
    connect,
    rates,
    environment,
    settings,
    isFinal: (code, action) => action === 'RunInstances' && isExhausted(code),
    userAgent: `mcm/${version}`,
    allowPlainHttp: settings.allowPlainHttp ?? environment.variables.MCM_ALLOW_PLAIN_HTTP === 'true',
  });
  return async (
    { spec, credentials, signal }: Request,
    otherwise: 'Internal' | 'Uninitialized' = 'Internal',
  ): Promise<Ec2> => {
    try {
      signal.throwIfAborted();
      return await clients(spec.region ?? '', credentials);
    } catch (thrown) {
      throw fromCloud(thrown, signal, otherwise);
    }
  };
}

const uninitialized = (error: MachineError): MachineError =>
  error.code === 'NotFound'
    ? new MachineError('Uninitialized', `machine codes error: code = [${error.code}] message = [${error.message}]`)
    : error;

/**
 * Returns the status of a machine's VM.
 * @throws MachineError OutOfRange if there are several VMs, or Uninitialized if the VM is not initialized
 */
function statusOf(request: OnMachine, found: readonly Instance[]): FoundInstance {
  const [instance] = found;
  if (!instance || found.length > 1) {
    const ids = found.map(({ InstanceId: id = '' }) => id).join(' ');
    throw new MachineError(
      'OutOfRange',
      `AWS plugin is returning multiple VM instances backing this machine object. IDs for all backing VMs - [${ids}] `,
      { found: found.map((each) => describeFound(request, each)) },
    );
  }
  const reported = describeFound(request, instance);
  requireInitialized(request, instance, reported);
  return { ...reported, ...stopped(request, instance) };
}

/** Returns a list with the VM of an instance, or an empty list if the instance has no ID. */
function listed(
  { spec, tagKeys }: Listing,
  { InstanceId: id, Tags = [], LaunchTime }: Instance,
): readonly ListedInstance[] {
  if (id === undefined) return [];
  const machineName = Tags.find(({ Key }) => Key === NAME_TAG)?.Value ?? '';
  const createdAt = LaunchTime ? { createdAt: LaunchTime.toISOString() } : {};
  const tags = Object.fromEntries(Tags.map(({ Key = '', Value = '' }) => [Key, Value]));
  const marks = { ...ownerOf(tags), ...listedTags(tags, tagKeys) };
  return [{ providerId: formatProviderId(spec.region ?? '', id), machineName, ...createdAt, ...marks }];
}

const findTimed = (
  ec2: Ec2,
  request: OnMachine,
  gone: EndedInstances,
  timed: ObservedCall,
): ReturnType<typeof findMachine> => timed('instance_get_by_machine', () => findMachine(ec2, request, gone, timed));

const describeFound = (request: Request, instance: Instance): FoundInstance => ({
  ...describe(request, instance),
  createdAt: instance.LaunchTime?.toISOString(),
});

/**
 * Reports a stopped VM as ending if a Machine has recorded it, because a stopped VM cannot run the Machine. A
 * Machine without a provider ID can still adopt a stopped VM.
 */
function stopped({ machine }: OnMachine, { State }: Instance): Pick<FoundInstance, 'ending'> {
  const state = State?.Name ?? '';
  return machine.spec.providerID && ['stopping', 'stopped'].includes(state) ? { ending: state } : {};
}

const describe = ({ spec }: Request, { InstanceId: id = '', PrivateDnsName: nodeName = '' }: Instance): Reported => ({
  providerId: formatProviderId(spec.region ?? '', id),
  nodeName,
});

/**
 * Returns the IDs of the VMs to delete. If the provider ID is unknown, all VMs with the name of the machine are
 * deleted. VMs of other control clusters are not deleted.
 */
async function idsToDelete(
  request: OnMachine,
  connectTo: (request: Request) => Promise<Ec2>,
  gone: EndedInstances,
  timed: ObservedCall,
): Promise<readonly string[]> {
  const { machine, signal } = request;
  if (machine.spec.providerID) return [instanceIdOf(machine.spec.providerID)];
  const ec2 = await connectTo(request);
  try {
    const found = await timed('instance_get_by_tag_and_status', () => findByName(ec2, request, gone));
    return found.map(({ InstanceId: id = '' }) => id);
  } catch (thrown) {
    throw fromCloud(thrown, signal);
  }
}

/**
 * A VM counts as deleted when its termination begins, because EC2 never cancels a termination. If the VM does not
 * exist, the termination succeeds.
 */
async function terminate(ec2: Ec2, id: string, signal: AbortSignal): Promise<void> {
  try {
    await ec2.terminate(id, signal);
  } catch (thrown) {
    if (!isAbsentInstance(thrown)) throw fromCloud(thrown, signal);
  }
}
