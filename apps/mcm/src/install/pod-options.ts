import { withoutUndefined } from '@mcm/kube';
import { UserError } from '../command/errors.ts';

/** The values of the options for the pods, each in the format that `mcm install --help` describes. */
export interface PodFlags {
  readonly toleration?: readonly string[];
  readonly nodeSelector?: readonly string[];
  readonly podLabel?: readonly string[];
  readonly serviceAccountAnnotation?: readonly string[];
}

/** The fields that the options can change. */
interface Installed {
  readonly kind?: string;
  readonly metadata?: { readonly name?: string };
  readonly spec?: {
    readonly template?: {
      readonly metadata?: { readonly labels?: Readonly<Record<string, string>> };
      readonly spec?: object;
    };
  };
}

const PAIR = /^([^\s=]+)=(\S*)$/;
const TOLERATION = /^([^\s=:]+)(?:=([^\s:]*))?(?::(NoSchedule|PreferNoSchedule|NoExecute))?$/;

/** The labels of the pods that the selectors of the installation use. */
const FIXED_LABELS: ReadonlySet<string> = new Set(['app.kubernetes.io/name', 'app.kubernetes.io/part-of']);

function pairsOf(option: string, given: readonly string[], example: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    given.map((text) => {
      const [, name, value] = PAIR.exec(text) ?? [];
      if (name === undefined || value === undefined)
        throw new UserError(`${option} must be name=value, such as ${example}, not "${text}"`);
      return [name, value];
    }),
  );
}

/** Parses a toleration in the format in which `kubectl taint` writes a taint. */
function tolerationOf(text: string): object {
  const [, key, value, effect] = TOLERATION.exec(text) ?? [];
  if (key === undefined)
    throw new UserError(
      `--toleration must be key, key:effect or key=value:effect, such as node-role.kubernetes.io/control-plane:NoSchedule, not "${text}"`,
    );
  return { key, operator: value === undefined ? 'Exists' : 'Equal', ...withoutUndefined({ value, effect }) };
}

function labelsOf(given: readonly string[]): Readonly<Record<string, string>> {
  const labels = pairsOf('--pod-label', given, 'team=infra');
  const fixed = Object.keys(labels).find((name) => FIXED_LABELS.has(name));
  if (fixed !== undefined)
    throw new UserError(`--pod-label must not set ${fixed}, because the selectors of the installation use the label`);
  return labels;
}

/**
 * Applies the options to the pods of all Deployments and StatefulSets, and to one ServiceAccount. The pods of the
 * machine-config-daemon run on each node, so the options do not apply to the DaemonSet.
 * @param account the ServiceAccount of the machine controller
 * @throws UserError that names the option and the value
 */
export function withPodOptions(
  objects: readonly object[],
  { toleration = [], nodeSelector = [], podLabel = [], serviceAccountAnnotation = [] }: PodFlags,
  account: string,
): readonly object[] {
  const tolerations = toleration.map(tolerationOf);
  const selector = pairsOf('--node-selector', nodeSelector, 'kubernetes.io/os=linux');
  const labels = labelsOf(podLabel);
  const example = 'eks.amazonaws.com/role-arn=arn:aws:iam::111122223333:role/mcm';
  const annotations = pairsOf('--service-account-annotation', serviceAccountAnnotation, example);
  const placement = withoutUndefined({
    nodeSelector: nodeSelector.length > 0 ? selector : undefined,
    tolerations: tolerations.length > 0 ? tolerations : undefined,
  });
  return objects.map((object: Installed) => {
    const { kind, metadata, spec } = object;
    if (kind === 'ServiceAccount' && metadata?.name === account && serviceAccountAnnotation.length > 0)
      return { ...object, metadata: { ...metadata, annotations } };
    if ((kind !== 'Deployment' && kind !== 'StatefulSet') || spec?.template === undefined) return object;
    const { template } = spec;
    const labeled = { ...template.metadata, labels: { ...template.metadata?.labels, ...labels } };
    return { ...object, spec: { ...spec, template: { metadata: labeled, spec: { ...template.spec, ...placement } } } };
  });
}
