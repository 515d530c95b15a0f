import { compareBytes } from '../config/order.ts';

/** Templates by path: `<role>/<MachineConfig>/<overlay>/{files,units,extensions}/<template>`. */
export type TemplateTree = ReadonlyMap<string, string>;

const COMMON = 'common';

type TemplateKind = 'files' | 'units' | 'extensions';

export interface ChosenTemplates {
  readonly name: string;
  readonly files: ReadonlyMap<string, Template>;
  readonly units: ReadonlyMap<string, Template>;
  readonly extensions: readonly string[];
}

export interface Template {
  readonly path: string;
  readonly text: string;
}

/** Returns true if the output of a template is not empty, and therefore overrides an earlier template. */
export type SaysSomething = (template: Template) => boolean;

function directories(tree: TemplateTree, parent: string): readonly string[] {
  const prefix = parent === '' ? '' : `${parent}/`;
  const names = [...tree.keys()].flatMap((path) => {
    if (!path.startsWith(prefix)) return [];
    const rest = path.slice(prefix.length);
    const slash = rest.indexOf('/');
    return slash < 0 ? [] : [rest.slice(0, slash)];
  });
  return [...new Set(names)].toSorted(compareBytes);
}

/** Returns the roles with templates in a tree. */
export const rolesOf = (tree: TemplateTree): readonly string[] =>
  directories(tree, '').filter((role) => role !== COMMON);

export function templatesOfRole(
  tree: TemplateTree,
  role: string,
  overlays: readonly string[],
  saysSomething: SaysSomething,
): readonly ChosenTemplates[] {
  return directories(tree, role).map((name, index) => {
    const roots = [...(index === 0 ? [COMMON] : []), `${role}/${name}`];
    const places = roots.flatMap((root) => overlays.map((overlay) => `${root}/${overlay}`));
    const choose = (kind: TemplateKind) => chooseTemplates(tree, places, kind, saysSomething);
    return { name, files: choose('files'), units: choose('units'), extensions: [...choose('extensions').keys()] };
  });
}

/** Selects the templates of several directories; later directories take precedence. */
function chooseTemplates(
  tree: TemplateTree,
  places: readonly string[],
  kind: TemplateKind,
  saysSomething: SaysSomething,
): ReadonlyMap<string, Template> {
  const chosen = new Map<string, Template>();
  for (const place of places) {
    const prefix = `${place}/${kind}/`;
    for (const [path, text] of tree) {
      if (!path.startsWith(prefix)) continue;
      const name = path.slice(path.lastIndexOf('/') + 1);
      if (text === '') chosen.delete(name);
      else if (kind === 'extensions' || saysSomething({ path, text })) chosen.set(name, { path, text });
    }
  }
  return new Map([...chosen].toSorted(([a], [b]) => compareBytes(a, b)));
}
