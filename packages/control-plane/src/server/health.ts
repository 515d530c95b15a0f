import type { ServerRequest, ServerResponse } from '../apimachinery/http/exchange.ts';
import { answerPlain, pageNotFound } from './answer.ts';

/** The start hooks of kube-apiserver. All hooks are complete before the first request. */
const STARTED = [
  'start-apiserver-admission-initializer',
  'start-apiextensions-informers',
  'start-apiextensions-controllers',
  'crd-informer-synced',
  'start-system-namespaces-controller',
  'storage-readiness',
  'rbac/bootstrap-roles',
  'scheduling/bootstrap-system-priority-classes',
  'priority-and-fairness-config-producer',
  'bootstrap-controller',
].map((hook) => `poststarthook/${hook}`);

/** The health checks of each path, in the order of the response. */
const CHECKS: Readonly<Record<string, readonly string[]>> = {
  healthz: ['ping', 'log', 'etcd', ...STARTED],
  livez: ['ping', 'log', 'etcd', ...STARTED],
  readyz: ['ping', 'log', 'etcd', 'etcd-readiness', 'informer-sync', ...STARTED, 'shutdown'],
};

export const isHealth = (first: string): boolean => Object.hasOwn(CHECKS, first);

/** A server that responds is healthy, so no check can fail. `verbose` and `exclude` work as in kube-apiserver. */
export function answerHealth(request: ServerRequest, [first = '', ...rest]: readonly string[]): ServerResponse {
  const checks = CHECKS[first] ?? [];
  const one = rest.join('/');
  if (one !== '') return checks.includes(one) ? answerPlain('ok') : pageNotFound();
  if (!request.query.has('verbose')) return answerPlain('ok');
  const excluded = new Set(request.query.getAll('exclude'));
  const lines = checks.map((check) => `[+]${check} ${excluded.has(check) ? 'excluded: ok' : 'ok'}`);
  const unknown = [...excluded].filter((check) => !checks.includes(check));
  if (unknown.length > 0) {
    const named = unknown.map((check) => JSON.stringify(check)).join(',');
    lines.push(`warn: some health checks cannot be excluded: no matches for ${named}`);
  }
  return answerPlain(`${lines.join('\n')}\n${first} check passed\n`);
}

/** Returns all paths of health checks, which the index of the server lists. */
export const healthPaths = (): string[] =>
  Object.entries(CHECKS).flatMap(([first, checks]) => [`/${first}`, ...checks.map((check) => `/${first}/${check}`)]);
