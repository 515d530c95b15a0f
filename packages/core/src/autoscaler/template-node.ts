import type { MachineClass, MachineDeployment } from '@mcm/api';
import type { Taint } from '@mcm/kube';
import { AutoscalerError } from './problem.ts';

/** The Node of a machine that does not exist yet. */
export interface TemplateNode {
  readonly metadata: {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly taints: readonly Taint[] };
  readonly status: {
    readonly capacity: Readonly<Record<string, string>>;
    readonly allocatable: Readonly<Record<string, string>>;
    readonly conditions: readonly { readonly type: string; readonly status: string }[];
  };
}

const PODS = '110';

/**
 * Returns a template of the Node that a new machine of the deployment would have.
 * @throws AutoscalerError `UNIMPLEMENTED` if the class has no `nodeTemplate`; the autoscaler then uses an existing node
 * as the template
 */
export function templateNode(deployment: MachineDeployment, machineClass: MachineClass | undefined): TemplateNode {
  const { name } = deployment.metadata;
  const shape = machineClass?.nodeTemplate;
  if (shape === undefined) {
    const reason = `MachineClass ${deployment.spec.template.spec.class.name ?? ''} has no nodeTemplate`;
    throw new AutoscalerError(
      'UNIMPLEMENTED',
      `${reason}, so the node resources of MachineDeployment ${name} are unknown`,
    );
  }
  const { capacity, virtualCapacity = {}, instanceType, region, zone, architecture } = shape;
  const { gpu, ...others } = Object.fromEntries(Object.entries(capacity).map(([key, amount]) => [key, String(amount)]));
  const virtual = Object.fromEntries(Object.entries(virtualCapacity).map(([key, amount]) => [key, String(amount)]));
  const gpus = gpu === undefined || gpu === '0' ? {} : { 'nvidia.com/gpu': gpu };
  const resources = { pods: PODS, ...others, ...gpus, ...virtual };
  const { metadata = {}, spec = {} } = deployment.spec.template.spec.nodeTemplate ?? {};
  const labels = {
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': architecture ?? 'amd64',
    'kubernetes.io/hostname': `template-${name}`,
    'node.kubernetes.io/instance-type': instanceType,
    'topology.kubernetes.io/region': region,
    'topology.kubernetes.io/zone': zone,
    ...metadata.labels,
  };
  return {
    metadata: { name: `template-${name}`, labels, annotations: { ...metadata.annotations } },
    spec: { taints: spec.taints ?? [] },
    status: { capacity: resources, allocatable: resources, conditions: [{ type: 'Ready', status: 'True' }] },
  };
}
