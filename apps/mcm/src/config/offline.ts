import { ignoreNotFound, type KubeClient, type KubeObject, type ResourceDefinition, secrets } from '@mcm/kube';
import {
  CONTROLLER_CONFIG_NAME,
  containerRuntimeConfigs,
  controllerConfigs,
  diffMachineConfigs,
  kubeletConfigs,
  loadTemplates,
  type MachineConfig,
  machineConfigPools,
  machineConfigs,
  type OfflineResult,
  renderOffline,
} from '@mcm/machine-config';
import { TEMPLATES } from '@mcm/machine-config-controller';
import { stringify } from 'yaml';
import { UserError } from '../command/errors.ts';
import { type Reading, readObjects } from '../files/read.ts';

export interface RenderRequest extends Reading {
  readonly paths: readonly string[];
  readonly templates?: string | undefined;
  /** The name of the pool to render. If `pool` is undefined, all pools are rendered. */
  readonly pool?: string | undefined;
  /**
   * The objects to which the files are applied. An object in a file replaces the object in `onto` with the same kind
   * and name.
   */
  readonly onto?: readonly KubeObject[];
}

const identity = ({ apiVersion, kind, metadata: { namespace = '', name } }: KubeObject): string =>
  JSON.stringify([apiVersion, kind, namespace, name]);

/**
 * Renders the pools from the objects in files and directories.
 * @throws UserError if an input cannot be read
 */
export async function renderPaths({
  paths,
  templates,
  pool,
  onto = [],
  ...reading
}: RenderRequest): Promise<OfflineResult> {
  const [given, tree] = await Promise.all([readObjects(paths, reading), loadTemplates(templates ?? TEMPLATES)]);
  const replaced = new Set(given.map(identity));
  const objects = [...onto.filter((object) => !replaced.has(identity(object))), ...given];
  const { pools, ...reported } = renderOffline({ objects, tree });
  if (pool === undefined) return { ...reported, pools };
  const own = pools.filter(({ name }) => name === pool);
  if (own.length > 0) return { ...reported, pools: own };
  throw new UserError(`pool ${pool} does not exist; existing pools: ${pools.map(({ name }) => name).join(', ')}`);
}

export const problemsOf = ({ pools, problems }: OfflineResult): readonly string[] => [
  ...problems,
  ...pools.flatMap(({ name, problem }) => (problem === undefined ? [] : [`pool ${name}: ${problem}`])),
];

interface Rendered {
  readonly object: object;
  readonly sources: readonly string[];
}

const renderedOf = ({ pools }: OfflineResult): Rendered[] =>
  pools.flatMap(({ machineConfig, sources }) => {
    if (!machineConfig) return [];
    const { ownerReferences: _none, ...metadata } = machineConfig.metadata;
    return [{ object: { ...machineConfig, metadata }, sources }];
  });

export const renderedObjects = (result: OfflineResult): object[] => renderedOf(result).map(({ object }) => object);

/** Returns the rendered MachineConfigs as YAML. */
export const renderedYaml = (result: OfflineResult): string =>
  renderedOf(result)
    .map(({ object, sources }) => `# Sources: ${sources.join(', ')}\n${stringify(object, { lineWidth: 0 })}`)
    .join('---\n');

const KINDS: readonly ResourceDefinition<KubeObject>[] = [
  controllerConfigs,
  machineConfigPools,
  machineConfigs,
  kubeletConfigs,
  containerRuntimeConfigs,
];

/** Reads all objects that rendering needs, including the pull secret of the ControllerConfig. */
export async function storedObjects(client: KubeClient): Promise<readonly KubeObject[]> {
  const lists = await Promise.all(
    KINDS.map(async (definition) => {
      const { group, version, kind } = definition;
      const { items } = await client.resource(definition).list();
      return items.map((item) => ({ ...item, apiVersion: `${group}/${version}`, kind }));
    }),
  );
  const config = await ignoreNotFound(client.resource(controllerConfigs).get(CONTROLLER_CONFIG_NAME));
  const { name, namespace } = config?.spec?.pullSecret ?? {};
  const secret = name && namespace ? await ignoreNotFound(client.resource(secrets, namespace).get(name)) : undefined;
  return [...lists.flat(), ...(secret ? [{ ...secret, apiVersion: 'v1', kind: 'Secret' }] : [])];
}

export type Former = (pool: string) => Promise<MachineConfig | undefined>;

/** Returns a function that reads the target MachineConfig of a pool from a cluster. */
export const inForce =
  (client: KubeClient): Former =>
  async (name) => {
    const pool = await ignoreNotFound(client.resource(machineConfigPools).get(name));
    const target = pool?.spec?.configuration?.name;
    return target ? ignoreNotFound(client.resource(machineConfigs).get(target)) : undefined;
  };

export interface PoolChanges {
  readonly pool: string;
  readonly changes: readonly string[];
}

export async function changesOf({ pools }: OfflineResult, former: Former): Promise<readonly PoolChanges[]> {
  const changed: PoolChanges[] = [];
  for (const { name, machineConfig } of pools) {
    if (!machineConfig) continue;
    const changes = diffMachineConfigs(await former(name), machineConfig);
    if (changes.length > 0) changed.push({ pool: name, changes });
  }
  return changed;
}

export const changeLines = (changed: readonly PoolChanges[]): string[] =>
  changed.flatMap(({ pool, changes }) => [`pool ${pool}`, ...changes.map((line) => `  ${line}`)]);
