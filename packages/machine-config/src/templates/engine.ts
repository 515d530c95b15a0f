import { Liquid, type LiquidOptions } from 'liquidjs';

/** A template that cannot be read or filled. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
}

// Templates hold no code: Liquid knows variables, filters, conditions and loops. Nothing is read from disk, only own
// properties are seen, and what is unknown is an error instead of an empty text.
const OPTIONS: LiquidOptions = {
  strictVariables: true,
  strictFilters: true,
  ownPropertyOnly: true,
  templates: {},
  parseLimit: 10_000_000,
  renderLimit: 10_000,
  memoryLimit: 100_000_000,
};

const engine = new Liquid(OPTIONS);

const KEY = /^[_a-z]\w*$/;

/** Keeps a placeholder for somebody else: `{{ "index" | skip }}` becomes `{{.index}}`. */
engine.registerFilter('skip', (key: unknown) => {
  if (typeof key === 'string' && KEY.test(key)) return `{{.${key}}}`;
  throw new TemplateError(`invalid key for skip: ${JSON.stringify(key)} is no name such as "index"`);
});

engine.registerFilter('toString', (value: unknown) => String(value));

/** Indents every line but the first, for texts inside of YAML: `{{ text | indent: 4 }}`. */
engine.registerFilter('indent', (text: unknown, width: unknown) =>
  String(text).replaceAll('\n', `\n${' '.repeat(Number(width))}`),
);

const url = (text: unknown): URL => {
  const parsed = URL.parse(String(text));
  if (parsed) return parsed;
  throw new TemplateError(`${JSON.stringify(text)} is no URL`);
};

engine.registerFilter('urlHost', (text: unknown) => url(text).hostname);
engine.registerFilter('urlPort', (text: unknown) => {
  const { port, protocol } = url(text);
  return port || (protocol === 'https:' ? '443' : '80');
});

/**
 * Fills a template.
 * @param name for messages: the template's path
 * @throws TemplateError naming template, line and what is unknown there
 */
export function fillTemplate(name: string, text: string, data: object): string {
  try {
    return engine.parseAndRenderSync(text, data);
  } catch (error) {
    throw new TemplateError(`template ${name}: ${(error as Error).message}`, { cause: error });
  }
}
