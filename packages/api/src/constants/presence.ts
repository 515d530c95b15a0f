import { Annotations } from './annotations.ts';
import { isFalseText, Labels } from './labels.ts';

const EFFECTS = {
  [Labels.CandidateForUpdate]: { of: 'labels', does: 'marks the Node as a candidate for an update in place' },
  [Labels.SelectedForUpdate]: { of: 'labels', does: 'selects the Node for an update in place' },
  [Labels.ScaleUpDisabled]: { of: 'labels', does: 'prevents the MachineSet from adding machines' },
  [Annotations.NotManagedByMCM]: { of: 'annotations', does: 'marks the Node as orphaned' },
  [Annotations.Unfreeze]: { of: 'annotations', does: 'ends the freeze' },
} as const;

/** A label or annotation whose value does not matter. */
export type PresenceKey = keyof typeof EFFECTS;

interface Marked {
  readonly metadata: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

/** Returns a warning if the value of `key` means "no", because the key has its effect with any value. */
export function presenceProblem({ metadata }: Marked, key: PresenceKey): string | undefined {
  const { of, does } = EFFECTS[key];
  const value = metadata[of]?.[key];
  if (value === undefined || !isFalseText(value)) return undefined;
  return `metadata.${of}[${key}]: ${JSON.stringify(value)} ${does}, because any value has this effect; remove the ${of === 'labels' ? 'label' : 'annotation'}`;
}
