import { type Amounts, amountsOf, isMore, podAmounts, showAmount } from '../../apimachinery/objects/amounts.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, look, type Plain, text } from '../../apimachinery/objects/plain.ts';

interface Usage {
  readonly requests: Amounts;
  readonly limits: Amounts;
}

function* minimums(type: string, item: Plain, { requests, limits }: Usage): Generator<string> {
  for (const [name, least] of amountsOf(look(item, 'min'))) {
    const [request, limit] = [requests.get(name), limits.get(name)];
    const what = `minimum ${name} usage per ${type} is ${showAmount(least)}`;
    if (request === undefined) yield `${what}.  No request is specified`;
    else if (isMore(least, request)) yield `${what}, but request is ${showAmount(request)}`;
    else if (limit !== undefined && isMore(least, limit)) yield `${what}, but limit is ${showAmount(limit)}`;
  }
}

function* maximums(type: string, item: Plain, { requests, limits }: Usage): Generator<string> {
  for (const [name, most] of amountsOf(look(item, 'max'))) {
    const [request, limit] = [requests.get(name), limits.get(name)];
    const what = `maximum ${name} usage per ${type} is ${showAmount(most)}`;
    if (limit === undefined) yield `${what}.  No limit is specified`;
    else if (isMore(limit, most)) yield `${what}, but limit is ${showAmount(limit)}`;
    else if (request !== undefined && isMore(request, most)) yield `${what}, but request is ${showAmount(request)}`;
  }
}

function* ratios(type: string, item: Plain, { requests, limits }: Usage): Generator<string> {
  for (const [name, most] of amountsOf(look(item, 'maxLimitRequestRatio'))) {
    const [request, limit] = [requests.get(name), limits.get(name)];
    const what = `${name} max limit to request ratio per ${type} is ${showAmount(most)}`;
    if (request === undefined || request.nanos === 0n) yield `${what}, but no request is specified or request is 0`;
    else if (limit === undefined || limit.nanos === 0n) yield `${what}, but no limit is specified or limit is 0`;
    else {
      const ratio = Number(limit.nanos) / Number(request.nanos);
      if (ratio > Number(most.nanos) / 1e9) yield `${what}, but provided ratio is ${ratio.toFixed(6)}`;
    }
  }
}

function* broken(type: string, item: Plain, usage: Usage): Generator<string> {
  yield* minimums(type, item, usage);
  yield* maximums(type, item, usage);
  yield* ratios(type, item, usage);
}

export function* podProblems(pod: ApiObject, range: ApiObject): Generator<string> {
  const spec = look(pod, 'spec');
  for (const item of items(look(range, 'spec'), 'limits')) {
    const type = text(item, 'type');
    if (type === 'Container') {
      for (const container of [...items(spec, 'containers'), ...items(spec, 'initContainers')]) {
        const resources = look(container, 'resources');
        const usage = {
          requests: amountsOf(look(resources, 'requests')),
          limits: amountsOf(look(resources, 'limits')),
        };
        yield* broken(type, item, usage);
      }
    } else if (type === 'Pod') {
      yield* broken(type, item, { requests: podAmounts(pod, 'requests'), limits: podAmounts(pod, 'limits') });
    }
  }
}

/** A PersistentVolumeClaim has requests, but no limits. */
export function* claimProblems(claim: ApiObject, range: ApiObject): Generator<string> {
  const requests = amountsOf(look(claim, 'spec', 'resources', 'requests'));
  for (const item of items(look(range, 'spec'), 'limits')) {
    const type = text(item, 'type');
    if (type !== 'PersistentVolumeClaim') continue;
    yield* minimums(type, item, { requests, limits: new Map() });
    for (const [name, most] of amountsOf(look(item, 'max'))) {
      const request = requests.get(name);
      if (request === undefined || !isMore(request, most)) continue;
      yield `maximum ${name} usage per ${type} is ${showAmount(most)}, but request is ${showAmount(request)}`;
    }
  }
}
