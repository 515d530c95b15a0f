import { Annotations, formatDurationMs, type MachineClass, type MachineDeployment } from '@mcm/api';
import { type HookStage, parseHooks } from '@mcm/core';

const CREATION: ReadonlySet<HookStage> = new Set<HookStage>(['before-create', 'after-ready']);

interface Steps {
  readonly made: number;
  readonly deleted: number;
}

/** Returns a sentence about the hooks of the machines, because the simulation has no owners of hooks. */
export function hookRemarks(
  { spec: { template } }: MachineDeployment,
  classes: readonly MachineClass[],
  { made, deleted }: Steps,
): string[] {
  const machineClass = classes.find(({ metadata }) => metadata.name === template.spec.class.name);
  const texts = [template.metadata?.annotations, machineClass?.metadata.annotations].map(
    (annotations) => annotations?.[Annotations.Hooks] ?? '',
  );
  const hooks = new Map(
    texts
      .toReversed()
      .flatMap((text) => parseHooks(text).hooks)
      .filter(({ stage }) => (CREATION.has(stage) ? made : deleted) > 0)
      .map((hook) => [`${hook.stage}/${hook.name}`, hook]),
  );
  if (hooks.size === 0) return [];
  const waits = [...hooks].map(([name, { timeoutMs, afterTimeout }]) =>
    afterTimeout === 'Continue' ? `${name} (at most ${formatDurationMs(timeoutMs)})` : `${name} (without a limit)`,
  );
  return [`the simulation assumes that hooks end immediately; each machine waits for ${waits.join(', ')}`];
}

/** Returns a sentence about warm machines, because the simulation does not start warm machines. */
export function warmRemarks({ metadata: { annotations = {} } }: MachineDeployment, { made }: Steps): string[] {
  const keys = [Annotations.WarmMachines, Annotations.WarmBuffer];
  if (made === 0 || keys.every((key) => annotations[key] === undefined)) return [];
  return ['the simulation creates all machines; mcm uses warm machines first, so the rollout can be faster'];
}
