import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { ROOT, trackedFiles } from './sources.ts';
import { GENERATED, table } from './text/markdown.ts';

const SOURCE = 'docs/contributing/folders.yaml';
const Layers = z.array(
  z.strictObject({
    layer: z.string(),
    /** If true, the layer above imports no package of this layer. */
    standalone: z.boolean().optional(),
    packages: z.record(z.string(), z.record(z.string(), z.string().max(120))),
  }),
);

/** A layer of the architecture: its packages, and the purpose of each folder. */
export type Layer = z.infer<typeof Layers>[number];

/** Folders that any package may have. */
const UNLISTED: ReadonlySet<string> = new Set(['testing', 'testdata', 'histories', 'generated']);

export const readLayers = (): readonly Layer[] => Layers.parse(parse(readFileSync(join(ROOT, SOURCE), 'utf8')));

/** Returns the folders that lack a description, and the descriptions of folders that do not exist. */
export function folderProblems(layers: readonly Layer[]): readonly string[] {
  const described = new Map(layers.flatMap(({ packages }) => Object.entries(packages)));
  const missing = packagesOfWorkspace().filter((path) => !described.has(path));
  return [
    ...missing.map((path) => `${path}: add the package to ${SOURCE}`),
    ...[...described].flatMap(([path, folders]) => {
      const real = foldersOf(path);
      return [
        ...real
          .filter((folder) => folders[folder] === undefined)
          .map((f) => `${path}/src/${f}: describe the folder in ${SOURCE}`),
        ...Object.keys(folders)
          .filter((folder) => !real.includes(folder))
          .map((folder) => `${path}/src/${folder}: the folder does not exist; remove the entry from ${SOURCE}`),
      ];
    }),
  ];
}

const packagesOfWorkspace = (): readonly string[] =>
  ['packages', 'providers', 'apps']
    .flatMap((group) => readdirSync(join(ROOT, group)).map((name) => `${group}/${name}`))
    .concat('e2e', 'tools')
    .filter((path) => existsSync(join(ROOT, path, 'package.json')));

const foldersOf = (path: string): readonly string[] => {
  const below = trackedFiles(`${path}/src/*/*`).map((file) => file.slice(`${path}/src/`.length).split('/')[0] ?? '');
  return [...new Set(below)].filter((folder) => folder !== '' && !UNLISTED.has(folder));
};

export function folderReferenceFiles(): ReadonlyMap<string, string> {
  const layers = readLayers();
  const problems = folderProblems(layers);
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return new Map([
    ['docs/reference/folders.md', page(layers)],
    ['docs/reference/folders.svg', picture(layers)],
  ]);
}

function page(layers: readonly Layer[]): string {
  const sections = layers.flatMap(({ layer, packages }) => [
    `## ${layer}`,
    ...Object.entries(packages).flatMap(([path, folders]) => {
      const rows = Object.entries(folders).map(([folder, purpose]) => [
        `[\`${folder}\`](../../${path}/src/${folder})`,
        purpose,
      ]);
      return [`### ${path}`, rows.length > 0 ? table(['Folder', 'Contents'], rows) : 'This package has no folders.'];
    }),
  ]);
  const intro =
    'This page lists the folders of all packages. The page helps contributors find the file to change. The page [Architecture](../architecture.md) explains how the packages work together.';
  return `${['# Folders', GENERATED, intro, '![The packages in layers, with their folders](folders.svg)', ...sections].join('\n\n')}\n`;
}

/** At this width, the text is readable on a phone, and a page of GitHub shows the picture without scaling. */
const WIDTH = 560;
const LINE = 20;
const PADDING = 12;
/** An upper limit for the average width of a character at the font size of the picture. */
const CHARACTER = 7.6;
const GAP = '   ';

/** Splits the names of folders into lines that fit into the frame of a package. */
function linesOf(names: readonly string[]): readonly string[] {
  const most = Math.floor((WIDTH - 4 * PADDING) / CHARACTER);
  const lines: string[] = [];
  for (const name of names) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + GAP.length + name.length <= most)
      lines.splice(-1, 1, `${last}${GAP}${name}`);
    else lines.push(name);
  }
  return lines;
}

const arrow = (x: number, y: number): string =>
  `<path d="M${x} ${y}v14m-5-5l5 5l5-5"/><text x="${x + 14}" y="${y + 13}" class="layer">imports</text>`;

/** Returns a picture of the packages in their layers. */
export function picture(layers: readonly Layer[]): string {
  let y = PADDING;
  const parts: string[] = [];
  for (const [index, { layer, packages, standalone = false }] of layers.entries()) {
    if (index > 0 && !standalone) {
      parts.push(arrow(WIDTH / 2, y));
      y += LINE + PADDING / 2;
    } else if (index > 0) y += PADDING;
    parts.push(`<text x="${PADDING}" y="${y + LINE}" class="layer">${layer}</text>`);
    y += LINE + PADDING;
    for (const [path, folders] of Object.entries(packages)) {
      const lines = linesOf(Object.keys(folders));
      const height = (lines.length + 1) * LINE + PADDING;
      parts.push(`<rect x="${PADDING}" y="${y}" width="${WIDTH - 2 * PADDING}" height="${height}" rx="6"/>`);
      parts.push(`<text x="${2 * PADDING}" y="${y + LINE}" class="package">${path}</text>`);
      for (const [at, line] of lines.entries())
        parts.push(`<text x="${2 * PADDING}" y="${y + (at + 2) * LINE}" xml:space="preserve">${line}</text>`);
      y += height + PADDING / 2;
    }
    y += PADDING / 2;
  }
  // A page can have a theme that differs from the theme of the system, so the picture has its own background.
  const style =
    'text{font:15px sans-serif;fill:#24292f}.package{font-weight:bold}.layer{font-style:italic}path{fill:none;stroke:#57606a;stroke-width:2}' +
    'rect{fill:#f6f8fa;stroke:#8c959f}.back{fill:#fff;stroke:none}@media(prefers-color-scheme:dark)' +
    '{text{fill:#e6edf3}path{stroke:#9198a1}rect{fill:#161b22;stroke:#6e7681}.back{fill:#0d1117}}';
  const attributes = [
    'xmlns="http://www.w3.org/2000/svg"',
    `width="${WIDTH}" height="${y}" viewBox="0 0 ${WIDTH} ${y}"`,
    'role="img"',
    'aria-label="The packages of mcm in layers, with their folders. Each layer imports only packages of its own layer and of lower layers."',
  ];
  const back = '<rect width="100%" height="100%" class="back"/>';
  return `<svg ${attributes.join(' ')}><style>${style}</style>\n${back}\n${parts.join('\n')}\n</svg>\n`;
}
