import type { MachineConfig } from '../../kinds/machine-config.ts';
import { type Irreconcilable, irreconcilable, type StorageOverride } from '../reconcile.ts';

export interface Case {
  readonly current: MachineConfig;
  readonly rendered: MachineConfig;
  readonly refusal: Irreconcilable;
  readonly sources: readonly MachineConfig[];
  readonly formerSources: readonly string[];
  readonly overrides: readonly StorageOverride[];
  readonly renderWithout: (name: string) => MachineConfig | undefined;
}

/** Returns the text about a refused rendered config, with the name of the MachineConfig that caused the refusal. */
export function explainRefusal(incident: Case): string {
  const { current, rendered, refusal, sources, formerSources } = incident;
  const from = `current config ${JSON.stringify(current.metadata.name)}`;
  const guilty = sources.find((source) => heals(incident, source));
  if (guilty) {
    return `reconciliation failed between ${from} and base config ${JSON.stringify(guilty.metadata.name)}: ${refusal.message}`;
  }
  const names = new Set(sources.map(({ metadata }) => metadata.name));
  const gone = formerSources.filter((name) => !names.has(name));
  const hint = gone.length > 0 ? `; deleted since then: ${gone.join(', ')}` : '';
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
