import { unsupportedValue } from '../../../apimachinery/errors/errors.ts';
import type { Findings } from '../../../apimachinery/errors/findings.ts';
import { given } from '../../../apimachinery/objects/empties.ts';
import { items, look, type Plain } from '../../../apimachinery/objects/plain.ts';
import { formatQuantity, parseQuantity, type Quantity } from '../../../apimachinery/objects/quantity.ts';
import { deviceClaimFindings, requirementFindings, resourceNameFindings } from './resources.ts';

const HUGE_PAGES = 'hugepages-';
const SUPPORTED = ['cpu', HUGE_PAGES, 'memory'];

function podResourceName(findings: Findings, name: string, at: string): void {
  const before = findings.causes.length;
  resourceNameFindings(findings, name, at);
  if (findings.causes.length > before || SUPPORTED.includes(name) || name.startsWith(HUGE_PAGES)) return;
  findings.add([unsupportedValue(at, name, SUPPORTED)]);
}

type Sums = Map<string, Quantity>;

function added(sums: Sums, amounts: Plain): Sums {
  const next = new Map(sums);
  for (const [name, amount] of Object.entries(amounts)) {
    const quantity = parseQuantity(String(amount));
    if (quantity === undefined) continue;
    const before = next.get(name);
    next.set(name, before === undefined ? quantity : { ...before, nanos: before.nanos + quantity.nanos });
  }
  return next;
}

function raise(sums: Sums, others: Sums): void {
  for (const [name, quantity] of others) {
    const before = sums.get(name);
    if (before === undefined || quantity.nanos > before.nanos) sums.set(name, quantity);
  }
}

/** The sum for an init container includes the restartable init containers before it. */
function sumOf(spec: Plain, list: 'requests' | 'limits'): Sums {
  const amounts = (container: Plain): Plain => look(container, 'resources', list);
  let sums = items(spec, 'containers').reduce<Sums>((all, each) => added(all, amounts(each)), new Map());
  let beside: Sums = new Map();
  const most: Sums = new Map();
  for (const container of items(spec, 'initContainers')) {
    if (container.restartPolicy === 'Always') {
      sums = added(sums, amounts(container));
      beside = added(beside, amounts(container));
      raise(most, beside);
    } else raise(most, added(beside, amounts(container)));
  }
  raise(sums, most);
  return sums;
}

function compare(findings: Findings, sums: Sums, resources: Plain, list: 'requests' | 'limits', at: string): void {
  for (const [name, sum] of sums) {
    if (list === 'limits' && !name.startsWith(HUGE_PAGES)) continue;
    const own = look(resources, list)[name];
    const quantity = own === undefined ? undefined : parseQuantity(String(own));
    if (quantity === undefined || sum.nanos <= quantity.nanos) continue;
    const why = `must be greater than or equal to aggregate container ${list} of ${formatQuantity(sum)}`;
    findings.invalid(`${at}.${list}[${name}]`, own, why);
  }
}

/** Validates the resources that a pod sets for itself (`validatePodResources`). */
export function podResourceFindings(findings: Findings, spec: Plain, path: string, claims: ReadonlySet<string>): void {
  if (spec.resources === undefined) return;
  const at = `${path}.resources`;
  if (look(spec, 'os').name === 'windows') {
    findings.forbidden(at, 'may not be set for a windows pod');
    return;
  }
  const resources = look(spec, 'resources');
  // A list of claims counts as set even if the list is empty.
  if (given(resources, 'claims') !== null) {
    findings.forbidden(`${at}.claims`, 'claims may not be set for Resources at pod-level');
  }
  requirementFindings(findings, resources, at, podResourceName);
  deviceClaimFindings(findings, resources, at, claims);
  compare(findings, sumOf(spec, 'requests'), resources, 'requests', at);
  compare(findings, sumOf(spec, 'limits'), resources, 'limits', at);
  const limits = look(resources, 'limits');
  for (const [index, container] of items(spec, 'containers').entries()) {
    for (const [name, amount] of Object.entries(look(container, 'resources', 'limits'))) {
      const [limit, own] = [parseQuantity(String(limits[name] ?? '')), parseQuantity(String(amount))];
      if (limit === undefined || own === undefined || own.nanos <= limit.nanos) continue;
      const why = `must be less than or equal to pod limits of ${limits[name]}`;
      findings.invalid(`${at}.containers[${index}][${name}].limits`, amount, why);
    }
  }
}
