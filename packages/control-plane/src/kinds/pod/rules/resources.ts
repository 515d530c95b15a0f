import { type Findings, NOT_NEGATIVE } from '../../../apimachinery/errors/findings.ts';
import { labelProblems, qualifiedNameProblems, subdomainProblems } from '../../../apimachinery/errors/names.ts';
import { items, look, type Plain, text } from '../../../apimachinery/objects/plain.ts';
import { quantityMilli, quantityNanos } from '../../../apimachinery/objects/quantity.ts';

const NANO = 1_000_000_000n;
const STANDARD = new Set([
  'cpu',
  'memory',
  'ephemeral-storage',
  'storage',
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'persistentvolumeclaims',
  'configmaps',
  'services.nodeports',
  'services.loadbalancers',
  'requests.cpu',
  'requests.memory',
  'requests.storage',
  'requests.ephemeral-storage',
  'limits.cpu',
  'limits.memory',
  'limits.ephemeral-storage',
]);
const CONTAINER = new Set(['cpu', 'memory', 'ephemeral-storage']);
const COUNTED = new Set([
  'pods',
  'services',
  'replicationcontrollers',
  'resourcequotas',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
]);

const isHugePages = (name: string): boolean => name.startsWith('hugepages-');
const isNative = (name: string): boolean => !name.includes('/') || name.includes('kubernetes.io/');

/**
 * Returns whether a resource is extended, such as `example.dev/gpu`. Amounts of an extended resource are integers, and
 * its requests equal its limits.
 */
const isExtended = (name: string): boolean =>
  !isNative(name) && !name.startsWith('requests.') && qualifiedNameProblems(`requests.${name}`).length === 0;

const mayOvercommit = (name: string): boolean => isNative(name) && !isHugePages(name);

export const isWhole = (name: string): boolean => COUNTED.has(name) || isExtended(name);

/** Returns whether an amount is an integer. As in kube-apiserver, the computation uses thousandths in 64 bits. */
export const isInteger = (amount: unknown): boolean => quantityMilli(amount) % 1000n === 0n;

/** Validates an amount of a resource. An amount of an extended resource must be an integer. */
function amountFindings(findings: Findings, name: string, amount: unknown, at: string): void {
  if (quantityNanos(amount) < 0n) findings.invalid(at, amount, NOT_NEGATIVE);
  if (isWhole(name) && !isInteger(amount)) findings.invalid(at, amount, 'must be an integer');
}

/** Validates the name of a resource, and returns whether the name is valid. */
export function resourceNameFindings(findings: Findings, name: string, at: string): boolean {
  const problems = qualifiedNameProblems(name);
  findings.problems(at, name, problems);
  if (problems.length > 0) return false;
  if (name.includes('/') || STANDARD.has(name) || isHugePages(name)) return true;
  findings.invalid(at, name, 'must be a standard resource type or fully qualified');
  return true;
}

/** Validates the resource name in a container, as `ValidateContainerResourceName` in Kubernetes. */
export function containerResourceName(findings: Findings, name: string, at: string): void {
  resourceNameFindings(findings, name, at);
  if (!name.includes('/')) {
    if (!CONTAINER.has(name) && !isHugePages(name)) {
      findings.invalid(at, name, 'must be a standard resource for containers');
    }
  } else if (!isNative(name) && !isExtended(name)) {
    findings.invalid(at, name, "doesn't follow extended resource name standard");
  }
}

/** Validates the resources of a container, as `ValidateContainerResourceRequirements` in Kubernetes. */
export const resourceFindings = (findings: Findings, resources: Plain, at: string): void =>
  requirementFindings(findings, resources, at, containerResourceName);

/**
 * Validates requests and limits, as `validateResourceRequirements` in Kubernetes.
 * @param nameFindings validates the names of the resources
 */
export function requirementFindings(
  findings: Findings,
  resources: Plain,
  at: string,
  nameFindings: (findings: Findings, name: string, at: string) => void,
): void {
  const limits = look(resources, 'limits');
  const requests = look(resources, 'requests');
  for (const [name, amount] of Object.entries(limits)) {
    nameFindings(findings, name, `${at}.limits[${name}]`);
    amountFindings(findings, name, amount, `${at}.limits[${name}]`);
    pageFindings(findings, name, amount, `${at}.limits[${name}]`);
  }
  for (const [name, amount] of Object.entries(requests)) {
    const field = `${at}.requests[${name}]`;
    nameFindings(findings, name, field);
    amountFindings(findings, name, amount, field);
    const limit = limits[name];
    const [wanted, most] = [quantityNanos(amount), quantityNanos(limit)];
    if (limit === undefined) {
      if (!mayOvercommit(name)) {
        findings.required(`${at}.limits`, 'Limit must be set for non overcommitable resources');
      }
    } else if (wanted !== most && !mayOvercommit(name)) {
      findings.invalid(`${at}.requests`, amount, `must be equal to ${name} limit of ${limit}`);
    } else if (wanted > most) {
      findings.invalid(`${at}.requests`, amount, `must be less than or equal to ${name} limit of ${limit}`);
    }
    pageFindings(findings, name, amount, field);
  }
  const names = [...Object.keys(limits), ...Object.keys(requests)];
  if (names.some(isHugePages) && !names.some((name) => name === 'cpu' || name === 'memory')) {
    findings.forbidden(at, 'HugePages require cpu or memory');
  }
}

function pageFindings(findings: Findings, name: string, amount: unknown, at: string): void {
  if (!isHugePages(name)) return;
  const size = quantityNanos(name.slice('hugepages-'.length));
  const isDivisible = size > 0n && size % NANO === 0n && roundedUp(quantityNanos(amount)) % (size / NANO) === 0n;
  if (!isDivisible) findings.invalid(at, amount, `${amount} is not positive integer multiple of ${name}`);
}

const roundedUp = (nanos: bigint): bigint => nanos / NANO + (nanos > 0n && nanos % NANO !== 0n ? 1n : 0n);

/** Validates the device claims of a pod (`validatePodResourceClaims`). */
export function podClaimFindings(findings: Findings, spec: Plain, path: string): void {
  const names = new Set<string>();
  for (const [index, claim] of items(spec, 'resourceClaims').entries()) {
    const at = `${path}[${index}]`;
    const name = text(claim, 'name');
    if (name === '') findings.required(`${at}.name`);
    else if (names.has(name)) findings.duplicate(`${at}.name`, name);
    else {
      findings.problems(`${at}.name`, name, labelProblems(name));
      names.add(name);
    }
    const sources = ['resourceClaimName', 'resourceClaimTemplateName'].filter((field) => claim[field] !== undefined);
    const both = '`resourceClaimName` or `resourceClaimTemplateName`';
    if (sources.length > 1) findings.invalid(at, shownClaim(claim), `at most one of ${both} may be specified`);
    if (sources.length === 0) {
      findings.invalid(at, shownClaim(claim), `must specify one of: ${both.replace(' or', ',')}`);
    }
    for (const field of sources)
      findings.problems(`${at}.${field}`, text(claim, field), subdomainProblems(text(claim, field)));
  }
}

/** Formats a device claim for errors, like a Go structure. */
const shownClaim = (claim: Plain): Plain => ({
  Name: text(claim, 'name'),
  ResourceClaimName: claim.resourceClaimName ?? null,
  ResourceClaimTemplateName: claim.resourceClaimTemplateName ?? null,
});

/** Validates the device claims of a container. */
export function deviceClaimFindings(
  findings: Findings,
  resources: Plain,
  at: string,
  ofPod: ReadonlySet<string>,
): void {
  const whole = new Set<string>();
  const parts = new Map<string, Set<string>>();
  for (const [index, claim] of items(resources, 'claims').entries()) {
    const here = `${at}.claims[${index}]`;
    const [name, request] = [text(claim, 'name'), text(claim, 'request')];
    if (name === '') {
      findings.required(here);
      continue;
    }
    const requests = parts.get(name) ?? new Set();
    if (whole.has(name)) findings.duplicate(here, name);
    else if (request === '') {
      for (const _ of requests) findings.duplicate(here, name);
      whole.add(name);
    } else {
      findings.problems(`${here}.request`, request, labelProblems(request));
      if (requests.has(request)) findings.duplicate(here, `${name}/${request}`);
      parts.set(name, requests.add(request));
    }
    if (!ofPod.has(name)) {
      const known = ofPod.size === 0 ? ' which is empty' : `: ${[...ofPod].sort().join(', ')}`;
      findings.notFound(here, name, `must be one of the names in pod.spec.resourceClaims${known}`);
    }
  }
}
