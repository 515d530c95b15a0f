import type { MachineConfig } from '../../kinds/machine-config.ts';
import { type Irreconcilable, irreconcilable, type StorageOverride } from '../reconcile.ts';

/** What the search for the guilty MachineConfig needs. */
export interface Case {
  /** What the nodes have. */
  readonly current: MachineConfig;
  /** What was refused. */
  readonly rendered: MachineConfig;
  readonly refusal: Irreconcilable;
  /** What it was made of, in merge order. */
  readonly sources: readonly MachineConfig[];
  /** Names of what `current` was made of. */
  readonly formerSources: readonly string[];
  readonly overrides: readonly StorageOverride[];
  /** Renders without one of the sources. @throws RenderError, IgnitionError */
  readonly renderWithout: (name: string) => MachineConfig | undefined;
}

/**
 * Says why a render was refused and names the MachineConfig to change: the one without which it would be accepted, or
 * one that is gone. The original compares each source alone with the whole of the current config and so blames the
 * first for what another lacks, and never one without an Ignition section.
 */
export function explainRefusal(incident: Case): string {
  const { current, rendered, refusal, sources, formerSources } = incident;
  const from = `current config ${JSON.stringify(current.metadata.name)}`;
  const guilty = sources.find((source) => heals(incident, source));
  if (guilty) {
    return `reconciliation failed between ${from} and base config ${JSON.stringify(guilty.metadata.name)}: ${refusal.message}`;
  }
  const names = new Set(sources.map(({ metadata }) => metadata.name));
  const gone = formerSources.filter((name) => !names.has(name));
  const hint = gone.length > 0 ? `; gone since then: ${gone.join(', ')}` : '';
  return (
    `render reconciliation error: machineconfig ${JSON.stringify(rendered.metadata.name)} cannot follow ${from}: ` +
    refusal.message +
    hint
  );
}

function heals({ current, refusal, overrides, renderWithout }: Case, source: MachineConfig): boolean {
  if (!refusal.concerns?.(source)) return false;
  const without = renderWithout(source.metadata.name);
  return without !== undefined && irreconcilable(current, without, overrides)?.message !== refusal.message;
}
