import { isDeepStrictEqual } from 'node:util';
import { withoutUndefined } from '@mcm/kube';
import { isTrue, type WantedCondition, withCondition } from '../conditions/conditions.ts';
import { applyMachineConfig } from '../config/render/apply.ts';
import type { ControllerIdentity } from '../config/render/render.ts';
import { type TlsProfile, tlsSettings } from '../config/tls.ts';
import { ConfigAnnotations } from '../constants/annotations.ts';
import { TemplateConditions } from '../constants/conditions.ts';
import type { ControllerConfig, ControllerConfigStatus } from '../kinds/controller-config.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import type { ConfigCondition } from '../kinds/shared.ts';
import { certificatesOf } from './certificates.ts';
import { TemplateError } from './engine.ts';
import { generateMachineConfigs } from './generate.ts';
import { pullSecretOf, type SecretLookup } from './pull-secret.ts';
import type { TemplateTree } from './tree.ts';

/** The input for the decision about the ControllerConfig. */
export interface TemplateSnapshot {
  readonly controllerConfig: ControllerConfig;
  readonly tree: TemplateTree;
  readonly identity: ControllerIdentity;
  readonly machineConfig: (name: string) => MachineConfig | undefined;
  readonly secret: SecretLookup;
  readonly tlsProfile?: TlsProfile | null | undefined;
  /** Whether the controller writes the version to the ControllerConfig, because no other program does. */
  readonly stampVersion: boolean;
  readonly now: string;
}

/** The actions for the ControllerConfig, which the controller executes in the order of the fields. */
export interface TemplatePlan {
  readonly annotations?: Readonly<Record<string, string>>;
  /**
   * The status that the controller writes before the MachineConfigs. With this status, the controller renders no pool,
   * because the MachineConfigs may be incomplete.
   */
  readonly begin?: ControllerConfigStatus | undefined;
  readonly create: readonly MachineConfig[];
  readonly update: readonly MachineConfig[];
  readonly status?: ControllerConfigStatus;
  readonly error?: string;
}

/** Plans the next actions for the ControllerConfig. */
export function planTemplates(snapshot: TemplateSnapshot): TemplatePlan {
  const { controllerConfig: config, identity, tree, secret, tlsProfile, machineConfig } = snapshot;
  if (config.metadata.deletionTimestamp !== undefined) return { create: [], update: [] };
  const begun = beginning(snapshot);
  const before = { ...stamp(snapshot), begin: begun };
  try {
    const pullSecret = pullSecretOf(config, secret);
    const inputs = { tree, controllerConfig: config, pullSecret };
    const wanted = generateMachineConfigs({ ...inputs, ...tlsSettings(tlsProfile) }, identity.hash);
    const create = wanted.filter(({ metadata }) => !machineConfig(metadata.name));
    const update = wanted.flatMap((required) => {
      const stored = machineConfig(required.metadata.name);
      const applied = stored && applyMachineConfig(stored, required);
      return applied?.modified ? [applied.machineConfig] : [];
    });
    return { ...before, create, update, ...ending(snapshot, begun, undefined) };
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    return { ...before, create: [], update: [], ...ending(snapshot, begun, error.message), error: error.message };
  }
}

function stamp({ controllerConfig, identity, stampVersion }: TemplateSnapshot): Pick<TemplatePlan, 'annotations'> {
  const { annotations = {} } = controllerConfig.metadata;
  const key = ConfigAnnotations.GeneratedByVersion;
  if (!stampVersion || annotations[key] === identity.version) return {};
  return { annotations: { ...annotations, [key]: identity.version } };
}

/** Returns the status before the MachineConfigs of a new generation, so that the rendering waits even after a crash. */
function beginning({ controllerConfig, identity, now }: TemplateSnapshot): ControllerConfigStatus | undefined {
  const { metadata, status = {} } = controllerConfig;
  const generation = metadata.generation ?? 0;
  if (status.observedGeneration === generation) return undefined;
  const { Running, Completed } = TemplateConditions;
  const message = `syncing towards (${generation}) generation using controller version ${identity.hash}`;
  const wanted: WantedCondition[] = [
    { type: Running, status: 'True', message },
    ...(isTrue(status.conditions, Completed) ? [{ type: Completed, status: 'False' as const }] : []),
  ];
  return { ...status, observedGeneration: generation, conditions: withAll(status.conditions, wanted, now) };
}

function ending(
  { controllerConfig, identity, now }: TemplateSnapshot,
  begun: ControllerConfigStatus | undefined,
  problem: string | undefined,
): Pick<TemplatePlan, 'status'> {
  const { Running, Completed, Failing } = TemplateConditions;
  const before = begun ?? controllerConfig.status ?? {};
  const generation = controllerConfig.metadata.generation ?? 0;
  const done = `sync completed towards (${generation}) generation using controller version ${identity.hash}`;
  const wanted: readonly WantedCondition[] =
    problem === undefined
      ? [
          { type: Completed, status: 'True', message: done },
          { type: Running, status: 'False' },
          { type: Failing, status: 'False' },
        ]
      : [
          { type: Failing, status: 'True', message: problem },
          { type: Completed, status: 'False' },
          { type: Running, status: 'False' },
        ];
  const conditions = withAll(before.conditions, wanted, now);
  const certificates = certificatesOf(controllerConfig);
  const status = {
    ...before,
    conditions,
    ...withoutUndefined({
      controllerCertificates: certificates.length > 0 || before.controllerCertificates ? [...certificates] : undefined,
    }),
  };
  return isDeepStrictEqual(status, before) ? {} : { status };
}

const withAll = (
  conditions: readonly ConfigCondition[] | undefined,
  wanted: readonly WantedCondition[],
  now: string,
): ConfigCondition[] => [
  ...wanted.reduce((list, one) => withCondition(list, one, now), (conditions ?? []) as readonly ConfigCondition[]),
];
