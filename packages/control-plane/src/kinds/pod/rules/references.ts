import { unsupportedValue } from '../../../apimachinery/errors/errors.ts';
import type { Findings } from '../../../apimachinery/errors/findings.ts';
import { qualifiedNameProblems } from '../../../apimachinery/errors/names.ts';
import { type Plain, text } from '../../../apimachinery/objects/plain.ts';
import { canonicalQuantity } from '../../../apimachinery/objects/quantity.ts';

const PLAIN_FIELDS = new Set([
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.restartPolicy',
  'spec.serviceAccountName',
  'spec.schedulerName',
  'status.phase',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
]);
export const VOLUME_FIELDS = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
];
export const ENVIRONMENT_FIELDS = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];
const RESOURCES = [
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
];
const SIZES = ['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei'];

export function fieldRefFindings(findings: Findings, ref: Plain, at: string, allowed: readonly string[]): void {
  const path = text(ref, 'fieldPath');
  const field = `${at}.fieldPath`;
  if (path === '') {
    findings.required(field);
    return;
  }
  const version = text(ref, 'apiVersion');
  const subscripted = /^(.*)\['(.*)'\]$/s.exec(path);
  const error = (why: string): void => findings.invalid(field, path, `error converting fieldPath: ${why}`);
  if (version !== 'v1') {
    error(`unsupported pod version: ${version}`);
    return;
  }
  if (subscripted !== null) {
    const [, owner = '', key = ''] = subscripted;
    if (owner !== 'metadata.annotations' && owner !== 'metadata.labels') {
      error(`field label does not support subscript: ${path}`);
      return;
    }
    const name = owner === 'metadata.annotations' ? key.toLowerCase() : key;
    findings.problems(at, name, qualifiedNameProblems(name));
    return;
  }
  const known = path === 'spec.host' ? 'spec.nodeName' : path;
  if (!PLAIN_FIELDS.has(known)) error(`field label not supported: ${path}`);
  else if (!allowed.includes(known)) findings.add([unsupportedValue(field, known, allowed)]);
}

export function resourceRefFindings(findings: Findings, ref: Plain, at: string, inVolume: boolean): void {
  const resource = text(ref, 'resource');
  if (inVolume && text(ref, 'containerName') === '') findings.required(`${at}.containerName`);
  else if (resource === '') findings.required(`${at}.resource`);
  else if (!RESOURCES.includes(resource) && !/^(limits|requests)\.hugepages-/.test(resource)) {
    findings.add([unsupportedValue(`${at}.resource`, resource, RESOURCES)]);
  }
  const divisor = ref.divisor === undefined ? '0' : (canonicalQuantity(String(ref.divisor)) ?? '0');
  if (divisor === '0') return;
  const field = `${at}.divisor`;
  if (/\.cpu$/.test(resource)) {
    if (divisor !== '1' && divisor !== '1m') {
      findings.invalid(field, resource, "only divisor's values 1m and 1 are supported with the cpu resource");
    }
    return;
  }
  const kind = /\.memory$/.test(resource)
    ? 'memory'
    : /\.ephemeral-storage$/.test(resource)
      ? 'local ephemeral storage'
      : /\.hugepages-/.test(resource)
        ? 'hugepages'
        : undefined;
  if (kind !== undefined && !SIZES.includes(divisor)) {
    findings.invalid(
      field,
      resource,
      `only divisor's values ${SIZES.join(', ')} are supported with the ${kind} resource`,
    );
  }
}
