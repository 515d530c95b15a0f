import { type MachineDeployment, machineClasses, machineDeployments } from '@mcm/api';
import {
  type Draft,
  defined,
  isAlreadyExists,
  type KubeClient,
  type KubeObject,
  type ResourceDefinition,
} from '@mcm/kube';
import {
  CONTROLLER_CONFIG_NAME,
  ConfigLabels,
  controllerConfigs,
  MACHINE_CONFIG_GROUP,
  type MachineConfigPool,
  machineConfigPools,
  NodeLabels,
} from '@mcm/machine-config';
import type { Provider } from './clouds/index.ts';
import { FIRST_FLEET, firstClass } from './seed.ts';

const roleLabel = (role: string): string => `${NodeLabels.RolePrefix}${role}`;

const CUSTOM = { name: 'infra', machines: 2 } as const;

/** Returns labels for the template of machines. These labels assign a node to a pool. */
export const nodeLabelsOf = (pool: string): Readonly<Record<string, string>> =>
  defined({
    [roleLabel('worker')]: '',
    [roleLabel(pool)]: pool !== 'worker' ? '' : undefined,
  });

/**
 * Returns the class for machines of the custom pool. At its boot, a machine of the custom pool gets the configuration
 * of the pool.
 */
export const customClass = ({ name, secret, ...own }: Provider['machineClass']): Provider['machineClass'] => ({
  ...own,
  name: `${name}-${CUSTOM.name}`,
  secret: `${secret}-${CUSTOM.name}`,
});
export const CUSTOM_POOL = CUSTOM.name;

const machinesOf = (name: string) => ({ kind: 'MachineDeployment' as const, namespace: FIRST_FLEET.namespace, name });

/**
 * Returns the pool of workers and a custom pool. Each pool refers to its machines, so the token of a machine can read
 * only the configuration of its pool.
 */
const pools = (): readonly Draft<MachineConfigPool>[] => [
  {
    metadata: { name: 'worker', labels: { [`${ConfigLabels.PoolPrefix}worker`]: '' } },
    spec: {
      machineConfigSelector: { matchLabels: { [ConfigLabels.Role]: 'worker' } },
      machineRef: machinesOf(FIRST_FLEET.deployment),
      maxUnavailable: 1,
    },
  },
  {
    metadata: { name: CUSTOM.name, labels: { [`${ConfigLabels.PoolPrefix}${CUSTOM.name}`]: '' } },
    spec: {
      machineConfigSelector: {
        matchExpressions: [{ key: ConfigLabels.Role, operator: 'In', values: ['worker', CUSTOM.name] }],
      },
      machineRef: machinesOf(CUSTOM.name),
      maxUnavailable: 1,
    },
  },
];

/** Creates the ControllerConfig, two pools, and another deployment for the machines of the custom pool. */
export async function seedMachineConfig(
  client: KubeClient,
  machineClass: Provider['machineClass'],
  signal: AbortSignal,
): Promise<void> {
  await createOnce(client, controllerConfigs, {
    metadata: { name: CONTROLLER_CONFIG_NAME },
    spec: { platform: 'none', clusterDNSIP: '10.96.0.10' },
  });
  for (const { plural, object } of daemonRoles()) {
    const definition = { group: RBAC, version: 'v1', plural, kind: object.kind, namespaced: false };
    await createOnce<KubeObject>(client, definition, object);
  }
  for (const pool of pools()) await createOnce(client, machineConfigPools, pool);
  await createOnce(client, machineClasses, firstClass(machineClass), FIRST_FLEET.namespace);
  await createOnce<MachineDeployment>(
    client,
    machineDeployments,
    customDeployment(machineClass.name),
    FIRST_FLEET.namespace,
  );

  async function createOnce<T extends KubeObject>(
    api: KubeClient,
    definition: ResourceDefinition<T>,
    object: Draft<T>,
    namespace?: string,
  ): Promise<void> {
    try {
      await api.resource(definition, namespace).create(object, { signal });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }
}

const RBAC = 'rbac.authorization.k8s.io';
const DAEMON = 'machine-config-daemon';

/**
 * Returns the roles that daemons need in addition to the permissions of kubelets, as in
 * `mcm install --with machine-config`.
 */
const daemonRoles = () => {
  const rule = (resource: string, verb: string) => ({
    apiGroups: [MACHINE_CONFIG_GROUP],
    resources: [resource],
    verbs: [verb],
  });
  const role = {
    kind: 'ClusterRole',
    metadata: { name: DAEMON },
    rules: [rule('machineconfigs', 'get'), rule('machineconfigpools', 'list')],
  };
  const binding = {
    kind: 'ClusterRoleBinding',
    metadata: { name: DAEMON },
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: DAEMON },
    subjects: [{ apiGroup: RBAC, kind: 'Group', name: 'system:nodes' }],
  };
  return [
    { plural: 'clusterroles', object: role },
    { plural: 'clusterrolebindings', object: binding },
  ];
};

const customDeployment = (machineClass: string): Draft<MachineDeployment> => ({
  metadata: { name: CUSTOM.name, namespace: FIRST_FLEET.namespace },
  spec: {
    replicas: CUSTOM.machines,
    selector: { matchLabels: { name: CUSTOM.name } },
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    template: {
      metadata: { labels: { name: CUSTOM.name } },
      spec: {
        class: { kind: 'MachineClass', name: machineClass },
        nodeTemplate: { metadata: { labels: nodeLabelsOf(CUSTOM.name) } },
      },
    },
  },
});
