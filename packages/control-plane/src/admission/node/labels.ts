const KUBELET_LABELS: ReadonlySet<string> = new Set([
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/instance-type',
  'node.kubernetes.io/instance-type',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
]);

type Labels = Readonly<Record<string, string>>;

const isOf = (prefix: string, domain: string): boolean => prefix === domain || prefix.endsWith(`.${domain}`);

function isForbidden(label: string): boolean {
  const slash = label.indexOf('/');
  const prefix = slash < 0 ? '' : label.slice(0, slash);
  if (isOf(prefix, 'node-restriction.kubernetes.io')) return true;
  if (!isOf(prefix, 'kubernetes.io') && !isOf(prefix, 'k8s.io')) return false;
  const isKubelets = isOf(prefix, 'kubelet.kubernetes.io') || isOf(prefix, 'node.kubernetes.io');
  return !KUBELET_LABELS.has(label) && !isKubelets;
}

export function forbiddenLabels(next: Labels = {}, before: Labels = {}): string[] {
  const changed = Object.keys({ ...next, ...before }).filter((label) => next[label] !== before[label]);
  return changed.filter(isForbidden).sort();
}
