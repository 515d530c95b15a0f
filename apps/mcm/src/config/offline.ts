import { ignoreNotFound, type KubeClient } from '@mcm/kube';
import {
  diffMachineConfigs,
  loadTemplates,
  type MachineConfig,
  machineConfigPools,
  machineConfigs,
  type OfflineResult,
  renderOffline,
} from '@mcm/machine-config';
import { TEMPLATES } from '@mcm/machine-config-controller';
import { stringify } from 'yaml';
import { UserError } from '../errors.ts';
import { readObjects } from './read.ts';

/** What is rendered, and from what. */
export interface RenderRequest {
  readonly paths: readonly string[];
  /** Absent: the templates that come with the controller. */
  readonly templates?: string;
  /** Only this pool. */
  readonly pool?: string;
}

/** Renders the pools of files and directories. Throws `UserError` for what cannot be read. */
export async function renderPaths({ paths, templates, pool }: RenderRequest): Promise<OfflineResult> {
  const [objects, tree] = await Promise.all([readObjects(paths), loadTemplates(templates ?? TEMPLATES)]);
  const { pools, problems } = renderOffline({ objects, tree });
  if (pool === undefined) return { problems, pools };
  const own = pools.filter(({ name }) => name === pool);
  if (own.length > 0) return { problems, pools: own };
  throw new UserError(`there is no pool ${pool}; there are ${pools.map(({ name }) => name).join(', ')}`);
}

/** What is wrong, one sentence each. */
export const problemsOf = ({ pools, problems }: OfflineResult): readonly string[] => [
  ...problems,
  ...pools.flatMap(({ name, problem }) => (problem === undefined ? [] : [`pool ${name}: ${problem}`])),
];

/** The rendered MachineConfigs as YAML. */
export const renderedYaml = ({ pools }: OfflineResult): string =>
  pools
    .flatMap(({ machineConfig, sources }) => {
      if (!machineConfig) return [];
      const { ownerReferences: _none, ...metadata } = machineConfig.metadata;
      const text = stringify({ ...machineConfig, metadata }, { lineWidth: 0 });
      return [`# Made of ${sources.join(', ')}\n${text}`];
    })
    .join('---\n');

/** The MachineConfig that a pool has, by the pool's name. */
export type Former = (pool: string) => Promise<MachineConfig | undefined>;

/** What pools are to have by now in a cluster. */
export const inForce =
  (client: KubeClient): Former =>
  async (name) => {
    const pool = await ignoreNotFound(client.resource(machineConfigPools).get(name));
    const target = pool?.spec?.configuration?.name;
    return target ? ignoreNotFound(client.resource(machineConfigs).get(target)) : undefined;
  };

/** What changes on the nodes of each pool, as lines; empty if nothing does. */
export async function diffLines({ pools }: OfflineResult, former: Former): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const { name, machineConfig } of pools) {
    if (!machineConfig) continue;
    const changes = diffMachineConfigs(await former(name), machineConfig);
    if (changes.length > 0) lines.push(`pool ${name}`, ...changes.map((line) => `  ${line}`));
  }
  return lines;
}
