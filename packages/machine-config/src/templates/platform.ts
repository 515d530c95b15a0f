import type { ControllerConfig } from '../kinds/controller-config.ts';
import { topologyOf } from '../kinds/topology.ts';
import { TemplateError } from './engine.ts';

const KNOWN = new Set(
  [
    'aws',
    'azure',
    'baremetal',
    'gcp',
    'openstack',
    'libvirt',
    'ovirt',
    'vsphere',
    'kubevirt',
    'powervs',
    'none',
  ].concat(['external', 'nutanix', 'local']),
);
const ON_PREM = new Set(['baremetal', 'ovirt', 'openstack', 'vsphere', 'nutanix']);
const EXTERNAL_CLOUD = new Set([
  'aws',
  'azure',
  'gcp',
  'openstack',
  'vsphere',
  'kubevirt',
  'powervs',
  'nutanix',
  'external',
]);

type Fields = Readonly<Record<string, unknown>>;
const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {});

const platformStatusOf = (config: ControllerConfig): Fields =>
  fieldsOf(fieldsOf(config.spec?.infra?.status).platformStatus);

/** The platform of a cluster, which determines its templates. */
export interface Platform {
  readonly name: string;
  /** The name of a platform that mcm does not support, and that uses the templates of `none`. */
  readonly unknown?: string;
}

/** Returns the platform in lower case, from the Infrastructure object or from `spec.platform`. */
export function platformOf(config: ControllerConfig): Platform {
  const type = platformStatusOf(config).type ?? config.spec?.platform;
  if (typeof type !== 'string' || type === '') {
    throw new TemplateError('cannot generate MachineConfigs when no platformStatus.type is set');
  }
  const name = type.toLowerCase();
  if (name === '_base') throw new TemplateError('platform _base unsupported');
  return KNOWN.has(name) ? { name } : { name: 'none', unknown: type };
}

/** Returns the value for the kubelet flag `--cloud-provider`. */
export const cloudProviderOf = ({ name }: Platform): string => (EXTERNAL_CLOUD.has(name) ? 'external' : '');

function hasOwnNames(config: ControllerConfig): boolean {
  const { type, ...platforms } = platformStatusOf(config);
  const own = fieldsOf(platforms[String(type).toLowerCase()]);
  const balancer = fieldsOf(own.cloudLoadBalancerConfig);
  return balancer.dnsType === 'ClusterHosted' && balancer.clusterHosted !== undefined;
}

/** Returns the directories of templates. A template in a later directory takes precedence. */
export function overlaysOf(config: ControllerConfig, { name }: Platform): readonly string[] {
  const topology = topologyOf(config);
  return [
    '_base',
    ...(ON_PREM.has(name) ? ['on-prem'] : []),
    ...(hasOwnNames(config) ? ['cloud-platform-alt-dns'] : []),
    name,
    ...(topology === 'SingleReplica' ? ['sno'] : []),
    ...(topology === 'DualReplica' ? ['two-node-with-fencing'] : []),
  ];
}
