import type { OwnerReference } from '@mcm/kube';
import { defined, withoutUndefined } from '@mcm/kube';
import { byName } from '../config/order.ts';
import { ConfigAnnotations } from '../constants/annotations.ts';
import { ConfigLabels } from '../constants/labels.ts';
import { ARBITER_POOL, MASTER_POOL, WORKER_POOL } from '../constants/names.ts';
import { compactIgnition, emptyIgnition, type IgnitionConfig, mergeIgnition } from '../ignition/index.ts';
import type { ControllerConfig } from '../kinds/controller-config.ts';
import { API_VERSION } from '../kinds/group.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import { topologyOf } from '../kinds/topology.ts';
import { type TemplateInputs, templateData } from './data.ts';
import { fillTemplate, TemplateError } from './engine.ts';
import { fileConfig, unitConfig } from './fragment.ts';
import { overlaysOf, platformOf } from './platform.ts';
import { type ChosenTemplates, rolesOf, type Template, type TemplateTree, templatesOfRole } from './tree.ts';

/** The inputs from which MachineConfigs are generated. */
export interface GenerateInput extends TemplateInputs {
  readonly tree: TemplateTree;
  readonly controllerConfig: ControllerConfig;
}

/**
 * Returns the MachineConfigs of all roles, sorted by name.
 * @param hash the hash of the controller's build, which is written to the annotations
 * @throws TemplateError
 */
export function generateMachineConfigs(input: GenerateInput, hash: string): readonly MachineConfig[] {
  const roles = rolesOf(input.tree).filter(
    (role) => role !== ARBITER_POOL || topologyOf(input.controllerConfig) === 'HighlyAvailableArbiter',
  );
  const annotations = { [ConfigAnnotations.GeneratedByControllerVersion]: hash };
  const owner = ownerOf(input.controllerConfig);
  return byName(
    roles.flatMap((role) =>
      named(role, () =>
        generateForRole(input, role).map((config) => ({
          ...config,
          metadata: {
            ...config.metadata,
            annotations,
            ...withoutUndefined({ ownerReferences: owner ? [owner] : undefined }),
          },
        })),
      ),
    ),
  );
}

function named<T>(role: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    throw new TemplateError(`failed to create MachineConfig for role ${role}: ${error.message}`, { cause: error });
  }
}

/** Returns an owner reference to a ControllerConfig that is already stored. */
const ownerOf = ({ metadata }: ControllerConfig): OwnerReference | undefined =>
  metadata.uid
    ? {
        apiVersion: API_VERSION,
        kind: 'ControllerConfig',
        name: metadata.name,
        uid: metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      }
    : undefined;

/** Returns the directory of a role. Custom pools use the templates of the workers. */
const directoryOf = (role: string): string =>
  [MASTER_POOL, WORKER_POOL, ARBITER_POOL].includes(role) ? role : WORKER_POOL;

/**
 * Returns the MachineConfigs of a role, without an owner and without the hash of the build.
 * A custom pool uses the templates of the workers.
 * @throws TemplateError
 */
export function generateForRole(input: GenerateInput, role: string): readonly MachineConfig[] {
  const { tree, controllerConfig } = input;
  const directory = directoryOf(role);
  const overlays = overlaysOf(controllerConfig, platformOf(controllerConfig));
  const data = templateData(controllerConfig, input);
  const filled = new Map<string, string>();
  const fill = ({ path, text }: Template): string => {
    const known = filled.get(path) ?? fillTemplate(path, text, data);
    filled.set(path, known);
    return known;
  };
  const chosen = templatesOfRole(tree, directory, overlays, (template) => fill(template).trim() !== '');
  if (chosen.length === 0)
    throw new TemplateError(`failed to read dir ${JSON.stringify(directory)}: the directory contains no templates`);
  return chosen.map((templates) => machineConfigOf(templates, role, fill));
}

function machineConfigOf(
  { name, files, units, extensions }: ChosenTemplates,
  role: string,
  fill: (template: Template) => string,
): MachineConfig {
  const parts: IgnitionConfig[] = [
    ...[...files.values()].map((template) => fileConfig(template.path, fill(template))),
    ...[...units.values()].map((template) => unitConfig(template.path, fill(template))),
  ];
  const config = compactIgnition(parts.reduce(mergeIgnition, emptyIgnition()));
  const metadata: Partial<MachineConfig['metadata']> = { name, labels: { [ConfigLabels.Role]: role } };
  return {
    apiVersion: API_VERSION,
    kind: 'MachineConfig',
    metadata: metadata as MachineConfig['metadata'],
    spec: defined({ config, extensions: extensions.length > 0 ? [...extensions] : undefined }),
  };
}
