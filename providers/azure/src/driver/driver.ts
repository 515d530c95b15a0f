import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import type { VirtualMachine } from '@azure/arm-compute';
import { Annotations, type Machine } from '@mcm/api';
import {
  type DriverDefinition,
  defineDriver,
  type FoundInstance,
  isOthers,
  type ListRequest,
  listedTags,
  type MachineCode,
  MachineError,
  type ObservedCall,
  OWNER_TAG,
  observedCalls,
  ownerTags,
  refuseOthers,
  trimSpace,
  type VolumeSource,
} from '@mcm/core/driver';
import type { Clock } from '@mcm/kube';
import { z } from 'zod';
import { sshPublicKey } from '../arm/ssh-key.ts';
import { alternatives } from './alternatives.ts';
import { type Change, changeTags, endingOf, startVm, stopVm } from './changes.ts';
import { createVm } from './create.ts';
import { decode } from './decode.ts';
import { fromCloud, isAbsent } from './errors.ts';
import { reportEvidence } from './evidence.ts';
import { machineNames, ownerOfMachine, providerIdOf, type Row, tagsOfVm } from './names.ts';
import { principalProblems } from './principal.ts';
import { deleteVm } from './remove.ts';
import { AzureCredentials, AzureProviderSpec } from './schemas.ts';
import { type OnMachine, type Request, type Session, type SessionOptions, sessions } from './session.ts';
import { CLUSTER_TAG, isBlank, ROLE_TAG } from './validate.ts';

/** The dependencies of the Azure driver. */
export interface AzureDriverOptions extends SessionOptions {
  /** Returns a public key in the format of authorized_keys. */
  readonly throwAwayKey?: () => Promise<string>;
}

/** The driver for Azure, with its spec and credentials. */
export type AzureDriver = DriverDefinition<AzureProviderSpec, AzureCredentials>;

/** The driver of Azure. */
export function createAzureDriver(options: AzureDriverOptions): AzureDriver {
  const { clock, throwAwayKey = onceGenerated() } = options;
  const open = opener(options);
  const counted = ({ observeApi }: Request): ObservedCall => observedCalls(clock, observeApi);

  return defineDriver({
    name: 'azure',
    spacesRequests: true,
    providerSpec: AzureProviderSpec,
    credentialsSchema: AzureCredentials,
    decode,
    alternatives,
    check: ({ credentials, secrets }) => principalProblems(credentials, secrets, options.allowManagedIdentity),

    create: async (request) => {
      const { spec } = request;
      const marked = { ...request, spec: { ...spec, tags: { ...spec.tags, ...ownerTags(request) } } };
      await createVm(open(request, firstAccess(spec)), marked, counted(request), throwAwayKey);
      const { name } = request.machine.metadata;
      return { providerId: providerIdOf(request.spec, name), nodeName: name };
    },

    ...changes(clock, open, counted),

    status: async (request) => statusOf(open(request, vmAccess(request)), request, counted(request)),

    delete: async (request) => {
      const { machine, spec, signal } = request;
      // Returns true if the VM with the given tags may be deleted.
      const mayGo = (tags: unknown): boolean => !isOthers(request, tags);
      const reported = `failed to create ResourceGroup access to process request: [ResourceGroup: ${spec.resourceGroup ?? ''}]`;
      await deleteVm(
        open(request, reported, { whole: true }),
        machine.metadata.name.toLowerCase(),
        spec,
        signal,
        counted(request),
        mayGo,
      );
      return undefined;
    },

    evidence: async (request) => {
      const { machine, spec, signal } = request;
      const { name } = machine.metadata;
      const session = open(request, vmAccess(request));
      try {
        return await counted(request)('virtual_machine_get_evidence', () => reportEvidence(session, name, signal));
      } catch (thrown) {
        const vmText = `[ResourceGroup: ${spec.resourceGroup ?? ''}, Name: ${name}]`;
        throw fromCloud(thrown, `Failed to get the instance view of VM: ${vmText}, Err: `, signal);
      }
    },

    list: async (request) => {
      const { spec, signal } = request;
      const session = open(request, '', { code: 'Unknown' });
      try {
        const rows = await counted(request)('resource_graph_query', () => query(session, request));
        return machineNames(rows).map((machineName) => ({
          providerId: providerIdOf(spec, machineName),
          machineName,
          ...ownerOfMachine(rows, machineName),
          ...listedTags(tagsOfVm(rows, machineName), request.tagKeys),
        }));
      } catch (thrown) {
        const words = 'failed to get VM names from VMs, NICs and Disks for resourceGroup';
        throw fromCloud(thrown, `${words} :${spec.resourceGroup ?? ''}: error: `, signal);
      }
    },

    volumeIds: (sources) => sources.map(volumeIdOf),
  });
}

function changes(
  clock: Clock,
  open: ReturnType<typeof opener>,
  counted: (request: Request) => ObservedCall,
): Required<Pick<AzureDriver, 'stop' | 'start' | 'tag'>> {
  const change = (request: OnMachine): Change => ({
    session: open(request, vmAccess(request)),
    request,
    clock,
    counted: counted(request),
  });
  return {
    stop: async (request) => stopVm(change(request)),
    start: async (request) => startVm(change(request)),
    tag: async (request) => changeTags(change(request), request.tags),
  };
}

/**
 * Returns a function that opens the session of a request.
 * - `reported`: the start of the original's error message if the client cannot be created
 * - `whole`: true if `reported` is the complete error message of the original
 */
function opener(options: AzureDriverOptions) {
  const sessionOf = sessions(options);
  return (
    request: Request,
    reported: string,
    { code, whole = false }: { readonly code?: MachineCode; readonly whole?: boolean } = {},
  ): Session => {
    try {
      return sessionOf(request);
    } catch (thrown) {
      const error = fromCloud(thrown, reported, request.signal, code);
      const { place } = error;
      throw whole ? new MachineError(error.code, reported, { cause: thrown, place: place || undefined }) : error;
    }
  };
}

/**
 * Returns the status of a VM.
 * @throws MachineError; NotFound if the VM does not exist
 */
async function statusOf(session: Session, request: OnMachine, counted: ObservedCall): Promise<FoundInstance> {
  const { machine, spec, signal } = request;
  const { name } = machine.metadata;
  const vmText = `[ResourceGroup: ${session.group}, Name: ${name}]`;
  const look = (): Promise<VirtualMachine | undefined> =>
    readerOf(session, machine)(name, signal).catch((thrown: unknown) => {
      if (isAbsent(thrown)) return undefined;
      throw thrown;
    });
  try {
    const found = await counted('virtual_machine_get', look);
    if (!found) throw new MachineError('NotFound', `VM: ${vmText} is not found`);
    refuseOthers(request, found.tags);
    return { providerId: providerIdOf(spec, name), nodeName: name, ending: endingOf(found) };
  } catch (thrown) {
    throw fromCloud(thrown, `Failed to get VM: ${vmText}, Err: `, signal);
  }
}

/**
 * Returns the function that reads a VM. If the machine has no provider ID, the function sends a direct read, because
 * only a direct read proves that the VM does not exist.
 */
function readerOf(session: Session, machine: Machine): Session['recordedVm'] {
  if (isWarm(machine)) return (name, signal) => session.vmWithView(name, signal);
  if (machine.spec.providerID) return (name, signal) => session.recordedVm(name, signal);
  return (name, signal) => session.vm(name)(signal);
}

/**
 * Returns true for a warm machine. For other machines, the driver does not read the power state, as in the original.
 */
const isWarm = ({ metadata }: Machine): boolean => metadata.annotations?.[Annotations.WarmPower] !== undefined;

const vmAccess = ({ spec, machine }: OnMachine): string =>
  `Failed to create virtual machine access to process request: [ResourceGroup: ${spec.resourceGroup ?? ''}, VMName: ${machine.metadata.name}], Err: `;

/**
 * Returns the start of the error message for the first read of a creation. If the terms of the image may have to be
 * accepted, the driver first reads the image. If no terms must be accepted, the driver first reads the subnet.
 */
function firstAccess({ properties }: AzureProviderSpec): string {
  const { urn, skipMarketplaceAgreement } = properties?.storageProfile?.imageReference ?? {};
  const what =
    isBlank(urn) || skipMarketplaceAgreement ? 'failed to create subnet access' : 'Failed to create image access';
  return `${what}, Err: `;
}

/** The schema of the rows in a response of Resource Graph. */
const data = z.array(z.looseObject({})).nullish();

/** Quotes a text for the query language of Resource Graph. */
const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

/** In the resource group of the class, reads all resources that have the cluster tag and the role tag. */
async function query(
  session: Session,
  { spec, signal, owner, tagKeys: wanted }: ListRequest<AzureProviderSpec, AzureCredentials>,
): Promise<readonly Row[]> {
  const { tags = {} } = spec;
  const keys = Object.keys(tags).toSorted();
  const marks = [CLUSTER_TAG, ROLE_TAG].map((prefix) => keys.find((each) => each.startsWith(prefix)) ?? '');
  const [cluster = '', role = ''] = marks.map(quoted);
  const text = `
	Resources
	| where type =~ 'microsoft.compute/virtualmachines' or type =~ 'microsoft.network/networkinterfaces' or type =~ 'microsoft.compute/disks'
	| where resourceGroup =~ ${quoted(session.group)}
	| extend tagKeys = bag_keys(tags)
	| where tagKeys has ${cluster} and tagKeys has ${role}
	| project type, name${wanted ? ', tags' : ''}${owner === undefined ? '' : `, tagKeys, owner = tostring(tags[${quoted(OWNER_TAG)}]), id\n\t| order by id asc`}
	`;
  const rows: Row[] = [];
  for (let token = ''; ; ) {
    const page = token === '' ? {} : { options: { skipToken: token } };
    const body = { query: text, subscriptions: [session.subscription], ...page };
    const answer = await session.ask('graph', (client, options) => client.resources(body, options), signal);
    if (answer.totalRecords === 0) return rows;
    rows.push(...(data.parse(answer.data) ?? []).filter(({ tagKeys }) => marks.every((mark) => holds(tagKeys, mark))));
    token = answer.skipToken ?? '';
    // For an incomplete listing, the driver reports an error. Otherwise, VMs that are missing in the listing would
    // count as deleted.
    if (token === '' && answer.resultTruncated === 'true')
      throw new Error('Resource Graph returned an incomplete list without a token for the next page');
    if (token === '') return rows;
  }
}

/**
 * Returns true if a tag has exactly the key `mark`. The operator `has` in the query also matches a part of a key. A
 * query for the cluster `a` would also return resources of the cluster `a-b`.
 */
const holds = (tagKeys: unknown, mark: string): boolean =>
  !Array.isArray(tagKeys) || tagKeys.some((key: unknown) => String(key).toLowerCase() === mark.toLowerCase());

const generate = promisify(generateKeyPair);

/** Generates one SSH key for the process, because the generation takes seconds. */
function onceGenerated(): () => Promise<string> {
  let key: Promise<string> | undefined;
  return () => {
    key ??= generate('rsa', { modulusLength: 4096 }).then(({ publicKey }) => sshPublicKey(publicKey));
    return key;
  };
}

function volumeIdOf({ azureDisk, csi }: VolumeSource): string | undefined {
  if (typeof azureDisk === 'object' && azureDisk !== null) {
    const { diskName = '' } = azureDisk as { readonly diskName?: unknown };
    return String(diskName);
  }
  return csi?.driver === 'disk.csi.azure.com' && trimSpace(csi.volumeHandle) !== '' ? csi.volumeHandle : undefined;
}
