import { Liquid, type LiquidOptions } from 'liquidjs';

/** The error for a template that cannot be parsed or rendered. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
}

// The options of the template language Liquid, which cannot run code or read files.
const OPTIONS: LiquidOptions = {
  strictVariables: true,
  strictFilters: true,
  ownPropertyOnly: true,
  templates: {},
  parseLimit: 10_000_000,
  renderLimit: 10_000,
  memoryLimit: 100_000_000,
};

const KEY = /^[_a-z]\w*$/;

const url = (text: unknown): URL => {
  const parsed = URL.parse(String(text));
  if (parsed) return parsed;
  throw new TemplateError(`${JSON.stringify(text)} is not a URL`);
};

const FILTERS: Readonly<Record<string, (value: unknown, given: unknown) => string>> = {
  /** Prints a placeholder that another program replaces: `{{ "index" | skip }}` becomes `{{.index}}`. */
  skip: (key) => {
    if (typeof key === 'string' && KEY.test(key)) return `{{.${key}}}`;
    throw new TemplateError(`invalid key for skip: ${JSON.stringify(key)} is not a name such as "index"`);
  },
  toString: String,
  /** Indents every line except the first line, for texts in YAML: `{{ text | indent: 4 }}`. */
  indent: (text, width) => String(text).replaceAll('\n', `\n${' '.repeat(Number(width))}`),
  urlHost: (text) => url(text).hostname,
  urlPort: (text) => {
    const { port, protocol } = url(text);
    return port || (protocol === 'https:' ? '443' : '80');
  },
};

let engine: Liquid | undefined;

/** The Liquid library is loaded on demand, because it loads slowly and most programs render no template. */
function filling(): Liquid {
  if (engine !== undefined) return engine;
  engine = new Liquid(OPTIONS);
  for (const [name, filter] of Object.entries(FILTERS)) engine.registerFilter(name, filter);
  return engine;
}

/**
 * Renders a template.
 * @param name the path of the template, for messages
 * @throws TemplateError with the template, the line and the unknown name
 */
export function fillTemplate(name: string, text: string, data: object): string {
  try {
    return filling().parseAndRenderSync(text, data);
  } catch (error) {
    throw new TemplateError(`template ${name}: ${(error as Error).message}`, { cause: error });
  }
}
