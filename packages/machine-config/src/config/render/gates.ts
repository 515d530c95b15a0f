import { isTrue } from '../../conditions/conditions.ts';
import { KubeletConditions, TemplateConditions } from '../../constants/conditions.ts';
import type { ContainerRuntimeConfig } from '../../kinds/container-runtime-config.ts';
import type { ControllerConfig } from '../../kinds/controller-config.ts';
import type { KubeletConfig } from '../../kinds/kubelet-config.ts';
import type { MachineConfigPool } from '../../kinds/machine-config-pool.ts';
import { selects } from '../../kinds/selectors.ts';

/**
 * Returns the reason why pools must wait for the ControllerConfig, or undefined if the ControllerConfig is complete.
 */
export function controllerConfigGate(config: ControllerConfig | undefined): string | undefined {
  if (!config) return 'controllerconfig.machineconfiguration.openshift.io "machine-config-controller" not found';
  const { status } = config;
  const observed = observationGate('ControllerConfig', config);
  if (observed !== undefined) return observed;
  const { Completed, Running, Failing } = TemplateConditions;
  const [completed, running, failing] = [Completed, Running, Failing].map((type) => isTrue(status?.conditions, type));
  if (completed && !running && !failing) return undefined;
  return `ControllerConfig has not completed: completed(${completed}) running(${running}) failing(${failing})`;
}

interface Observed {
  readonly metadata: { readonly name: string; readonly generation?: number };
  readonly status?: { readonly observedGeneration?: number };
}

function observationGate(kind: string, { metadata, status }: Observed): string | undefined {
  const [seen, wanted] = [status?.observedGeneration ?? 0, metadata.generation ?? 0];
  if (seen === wanted) return undefined;
  return `status for ${kind} ${metadata.name} is being reported for ${seen}, expecting it for ${wanted}`;
}

/** The KubeletConfigs and ContainerRuntimeConfigs of a pool that affect its rendering. */
export interface ConfigGate {
  readonly waiting?: string;
  readonly rejected: readonly string[];
}

type NodeConfig = KubeletConfig | ContainerRuntimeConfig;

/**
 * Checks the KubeletConfigs and ContainerRuntimeConfigs of a pool. In the original, an object that is not processed yet
 * stops every pool, and a refused object stops its pools without a message.
 */
export function nodeConfigGate(
  pool: MachineConfigPool,
  kubelets: readonly KubeletConfig[],
  runtimes: readonly ContainerRuntimeConfig[],
): ConfigGate {
  const rejected: string[] = [];
  const own = (config: NodeConfig) => selects(config.spec?.machineConfigPoolSelector, pool);
  for (const [kind, configs] of [
    ['ContainerRuntimeConfig', runtimes],
    ['KubeletConfig', kubelets],
  ] as const) {
    for (const config of (configs as readonly NodeConfig[]).filter(own)) {
      const unseen = observationGate(kind, config);
      if (unseen !== undefined) return { waiting: unseen, rejected };
      const verdict = verdictOf(config);
      if (verdict === undefined) return { waiting: `${kind} has not completed`, rejected };
      if (verdict !== true) rejected.push(`${kind} ${config.metadata.name} was refused: ${verdict}`);
    }
  }
  return { rejected };
}

/** Only the last condition of a KubeletConfig applies, because earlier conditions are history. */
function verdictOf({ status }: NodeConfig): true | string | undefined {
  const last = status?.conditions?.at(-1);
  if (!last) return undefined;
  const { Accepted, Success } = KubeletConditions;
  if (last.type === Success || (last.type === Accepted && last.status === 'True')) return true;
  return last.message ?? '';
}
