import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DEFAULT_INSTALL, installSections } from '@mcm/cli';
import { expect, test } from 'vitest';
import { ROOT } from '../harness/mcm.ts';

interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly verbs: readonly string[];
}
interface Role {
  readonly metadata: { readonly name: string };
  readonly rules: readonly Rule[];
}

const roles = installSections(DEFAULT_INSTALL)
  .filter(({ name }) => name.startsWith('dashboard'))
  .flatMap(({ objects }) => objects as readonly object[])
  .filter((object): object is Role => 'rules' in object);

const list = (text: string): readonly string[] => text.split(',').map((each) => each.trim());

const granted = roles
  .flatMap(({ metadata, rules }) =>
    rules.flatMap(({ apiGroups = [''], resources, nonResourceURLs = [], verbs }) =>
      apiGroups.flatMap((group) =>
        (resources?.map((resource) => `${group}/${resource}`) ?? nonResourceURLs).flatMap((what) =>
          verbs.map((verb) => `${metadata.name.replace(/\.default$/, '')} ${what} ${verb}`),
        ),
      ),
    ),
  )
  .toSorted();

function documented(section: string): readonly string[] {
  const page = readFileSync(join(ROOT, 'docs/permissions.md'), 'utf8');
  const text = page.split(`\n## ${section}\n`)[1]?.split('\n## ')[0] ?? '';
  const rows = text.split('\n').filter((line) => line.startsWith('| `'));
  return rows
    .flatMap((row) => {
      const [, role = '', resources = '', verbs = ''] = row.split('|').map((cell) => cell.trim());
      const [path] = /(?<=the non-resource URL `)[^`]+/.exec(resources) ?? [];
      let group = '';
      const all = path === undefined ? list(resources) : [path];
      return all.flatMap((each) => {
        const [, named, resource = each] = /^(?:`([^`]+)` )?(\S+)$/.exec(each) ?? [];
        group = named ?? group;
        const what = path ?? `${group}/${resource}`;
        return list(verbs).map((verb) => `${role.replaceAll('`', '')} ${what} ${verb}`);
      });
    })
    .toSorted();
}

test('the page lists exactly the permissions of the dashboard', () => {
  expect(granted.length).toBeGreaterThan(30);
  expect(documented('The dashboard')).toEqual(granted);
});
