import type { ContainerRuntimeConfig } from '../kinds/container-runtime-config.ts';
import type { NodeConfigKind } from '../node-config/kind.ts';
import { type NodeConfigPlan, type NodeConfigSnapshot, planNodeConfig } from '../node-config/plan.ts';
import { withRuntimeVerdict } from './conditions.ts';
import { runtimeFiles } from './files.ts';
import { unknownRuntimeFields, validateRuntimeConfig } from './validate.ts';

export const RUNTIME_KIND: NodeConfigKind<ContainerRuntimeConfig> = {
  kind: 'ContainerRuntimeConfig',
  naming: {
    part: 'containerruntime',
    noun: 'ctrcfg',
    formerNames: ({ metadata }) => [`99-${metadata.name}-${metadata.uid}-containerruntime`],
  },
  noPool: ({ metadata }) => `ContainerRuntimeConfig ${metadata.name}`,
  unknown: unknownRuntimeFields,
  validate: validateRuntimeConfig,
  validateFor: () => undefined,
  files: runtimeFiles,
  withVerdict: withRuntimeVerdict,
};

/** Plans the next actions for a ContainerRuntimeConfig. */
export const planRuntimeConfig = (snapshot: NodeConfigSnapshot<ContainerRuntimeConfig>): NodeConfigPlan =>
  planNodeConfig(RUNTIME_KIND, snapshot);
