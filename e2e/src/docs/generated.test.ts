import { beforeAll, expect, test } from 'vitest';
import { generatedPages, stalePages } from './generated.ts';
import { providerReferenceFiles } from './provider-reference.ts';

let pages: ReadonlyMap<string, string>;
beforeAll(() => {
  pages = generatedPages();
});

test('every generated page matches the code (pnpm generate)', () => {
  expect(providerReferenceFiles().size).toBe(8);
  expect(stalePages(pages)).toEqual([]);
});

test.each([
  ['docs/reference/flags.md', '`--machine-drain-timeout`', '`2h0m0s`'],
  ['docs/reference/flags.md', '`--reboot-command`', '`systemctl reboot`'],
  ['docs/reference/flags.md', '`--leader-elect`', '`true / true / true / false`'],
  ['docs/reference/flags.md', '`--webhook-port`', '`MCM_FLAG_WEBHOOK_PORT`'],
  ['docs/reference/metrics.md', '`mcm_machine_deployment_info`', '`spec_strategy_type`'],
  ['docs/reference/metrics.md', '`mcm_workqueue_depth`', '`name`'],
  ['docs/reference/machine.sapcloud.io.md', '`spec.strategy.rollingUpdate.maxSurge`', 'integer or text'],
])('%s tells %s with %s', (page, what, with_) => {
  const line = pages
    .get(page)
    ?.split('\n')
    .find((row) => row.includes(what));
  expect(line).toContain(with_);
});

test('each field of a provider spec is in its reference, down to the deepest', () => {
  const text = providerReferenceFiles().get('docs/providers/reference/aws.md') ?? '';
  for (const field of ['ami', 'blockDevices[].ebs.volumeSize', 'networkInterfaces[].ipv6PrefixCount', 'tags'])
    expect(text).toContain(`| \`${field}\``);
});
