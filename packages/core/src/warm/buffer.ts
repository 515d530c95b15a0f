import { Annotations, type MachineClass, type MachineDeployment, parseQuantity } from '@mcm/api';
import type { KubeObject, ResourceDefinition } from '@mcm/kube';
import { MOST_WARM } from './warm-machine.ts';

type Amounts = Readonly<Record<string, string | number>>;

export interface CapacityBuffer extends KubeObject {
  readonly spec?: {
    readonly podTemplateRef?: { readonly name?: string };
    readonly scalableRef?: { readonly kind?: string; readonly name?: string };
    readonly replicas?: number;
    readonly percentage?: number;
    readonly limits?: Amounts;
  };
  readonly status?: { readonly podTemplateRef?: { readonly name?: string }; readonly replicas?: number };
}

interface Resources {
  readonly requests?: Amounts;
  readonly limits?: Amounts;
}

interface Container {
  readonly restartPolicy?: string;
  readonly resources?: Resources;
}

export interface PodTemplate extends KubeObject {
  readonly template?: {
    readonly spec?: {
      readonly containers?: readonly Container[];
      readonly initContainers?: readonly Container[];
      readonly overhead?: Amounts;
      readonly resources?: Resources;
    };
  };
}

/** Only clusters with the CRD of the cluster autoscaler serve CapacityBuffers. */
export const capacityBuffers: ResourceDefinition<CapacityBuffer> = {
  group: 'autoscaling.x-k8s.io',
  version: 'v1beta1',
  plural: 'capacitybuffers',
  kind: 'CapacityBuffer',
  namespaced: true,
};

export const podTemplates: ResourceDefinition<PodTemplate> = {
  group: '',
  version: 'v1',
  plural: 'podtemplates',
  kind: 'PodTemplate',
  namespaced: true,
};

const NAME = '[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?';
const REFERENCE = new RegExp(`^${NAME}/${NAME}$`);

/** Returns the key of the CapacityBuffer that a deployment follows. */
export function bufferOf({ metadata }: Pick<MachineDeployment, 'metadata'>): string | undefined {
  const text = metadata.annotations?.[Annotations.WarmBuffer];
  return text !== undefined && REFERENCE.test(text) ? text : undefined;
}

export function bufferProblem(annotations: Readonly<Record<string, string>>): string | undefined {
  const text = annotations[Annotations.WarmBuffer];
  if (text === undefined || REFERENCE.test(text)) return undefined;
  return `metadata.annotations[${Annotations.WarmBuffer}]: ${JSON.stringify(text)} is ignored; write the namespace and the name of a CapacityBuffer, such as "default/web"`;
}

/** Returns the key of the PodTemplate of a buffer, or undefined if no reference is known. */
export function templateOf({ metadata, spec, status }: CapacityBuffer): string | undefined {
  const name = spec?.podTemplateRef?.name ?? status?.podTemplateRef?.name;
  return name === undefined ? undefined : `${metadata.namespace}/${name}`;
}

const nano = (amount: string | number | undefined): bigint => parseQuantity(amount ?? '0')?.nano ?? 0n;

type Sum = Map<string, bigint>;

function requestsOf({ resources }: Container): Sum {
  // If a container has a limit but no request, the request equals the limit.
  const amounts = { ...resources?.limits, ...resources?.requests };
  return new Map(Object.entries(amounts).map(([name, amount]) => [name, nano(amount)]));
}

function added(sums: readonly Sum[]): Sum {
  const total: Sum = new Map();
  for (const sum of sums) for (const [name, amount] of sum) total.set(name, (total.get(name) ?? 0n) + amount);
  return total;
}

/** An init container runs together with the sidecars that started before it. */
function startingRequests(initContainers: readonly Container[]): readonly Sum[] {
  let sidecars: Sum = new Map();
  return initContainers.map((one) => {
    const sum = added([sidecars, requestsOf(one)]);
    if (isSidecar(one)) sidecars = sum;
    return sum;
  });
}

const isSidecar = ({ restartPolicy }: Container): boolean => restartPolicy === 'Always';

const POD_RESOURCES = /^(cpu|memory|hugepages-.*)$/;

/** The requests of the pod take precedence over the requests of its containers, which take precedence over its limits. */
function withPodResources(containers: Sum, { requests = {}, limits = {} }: Resources = {}): Sum {
  const ofPod = (amounts: Amounts) =>
    Object.entries(amounts).flatMap(([name, amount]) =>
      POD_RESOURCES.test(name) ? [[name, nano(amount)] as const] : [],
    );
  return new Map([...ofPod(limits), ...containers, ...ofPod(requests)]);
}

/**
 * Returns the resources that the scheduler reserves for a pod of the PodTemplate. Source: k8s.io/component-helpers,
 * resource/helpers.go, PodRequests.
 */
function podRequests({ template }: PodTemplate): Sum {
  const { containers = [], initContainers = [], overhead = {}, resources } = template?.spec ?? {};
  const all = added([...containers, ...initContainers.filter(isSidecar)].map(requestsOf));
  for (const sum of startingRequests(initContainers))
    for (const [name, amount] of sum) if (amount > (all.get(name) ?? 0n)) all.set(name, amount);
  const own: Sum = new Map(Object.entries(overhead).map(([name, amount]) => [name, nano(amount)]));
  return added([withPodResources(all, resources), own, new Map([['pods', nano(1)]])]);
}

/** Returns how many pods with these requests fit into the amounts of resources. */
function fits(requests: Sum, amounts: Amounts, isLimit: boolean): number {
  let most = Number.POSITIVE_INFINITY;
  for (const [name, amount] of requests) {
    if (amount <= 0n || (isLimit && amounts[name] === undefined)) continue;
    most = Math.min(most, Number(nano(amounts[name]) / amount));
  }
  return most;
}

/** The kubelet's default for the maximum number of pods of a node. */
const PODS = 110;

/** The number of machines for a buffer, or the reason why it is unknown, as a part of a sentence. */
export type BufferNeed = { readonly machines: number } | { readonly unknown: string };

export interface BufferInput {
  readonly buffer: CapacityBuffer;
  readonly template: PodTemplate | undefined;
  readonly machineClass: Pick<MachineClass, 'metadata' | 'nodeTemplate'> | undefined;
}

/**
 * Returns the number of machines that can run all pods of a buffer. All pods of a buffer have equal requests, so the
 * computed number of machines is exact if the nodes are empty.
 */
export function machinesFor({ buffer, template, machineClass }: BufferInput): BufferNeed {
  const { spec = {}, status = {} } = buffer;
  const reference = templateOf(buffer);
  if (reference === undefined)
    return { unknown: 'the buffer refers to a workload, and its status does not contain a PodTemplate yet' };
  if (template === undefined) return { unknown: `PodTemplate ${reference} does not exist` };
  const capacity = machineClass?.nodeTemplate?.capacity;
  if (capacity === undefined) return { unknown: 'the MachineClass has no nodeTemplate with the capacity of a node' };
  const requests = podRequests(template);
  const gpus = capacity['gpu'] === undefined ? {} : { 'nvidia.com/gpu': capacity['gpu'] };
  const node = { pods: PODS, ...gpus, ...capacity, ...machineClass?.nodeTemplate?.virtualCapacity };
  const perMachine = fits(requests, node, false);
  if (perMachine < 1) return { unknown: `one pod of PodTemplate ${reference} does not fit on an empty node` };
  const wanted = spec.podTemplateRef ? spec.replicas : (status.replicas ?? spec.replicas);
  const limited = spec.limits ? fits(requests, spec.limits, true) : Number.POSITIVE_INFINITY;
  const pods = Math.min(wanted ?? Number.POSITIVE_INFINITY, limited);
  if (!Number.isFinite(pods))
    return { unknown: 'the CapacityBuffer sets no replicas and no limit for the resources of its pods' };
  return { machines: Math.min(Math.ceil(Math.max(pods, 0) / perMachine), MOST_WARM) };
}
