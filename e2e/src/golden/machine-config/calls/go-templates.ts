const NAMES: Readonly<Record<string, string>> = {
  TLSMinVersion: 'tlsMinVersion',
  TLSCipherSuites: 'tlsCipherSuites',
  APIServerURLFile: 'apiServerURLFile',
};

const variable = (path: string): string =>
  path === '.'
    ? 'item'
    : path
        .slice(1)
        .split('.')
        .map((name) => NAMES[name] ?? name.charAt(0).toLowerCase() + name.slice(1))
        .join('.');

/** Converts a Go template in a recording to a Liquid template. */
export function toLiquid(template: string): string {
  const blocks: string[] = [];
  return template.replaceAll(/\{\{(-?)\s*(.*?)\s*(-?)\}\}/gs, (_all, before: string, body: string, after: string) => {
    const tag = (text: string) => `{%${before} ${text} ${after}%}`;
    const [verb = '', ...rest] = body.split(/\s+/);
    if (verb === 'range' || verb === 'if') {
      blocks.push(verb === 'range' ? 'endfor' : 'endif');
      const argument = rest.join(' ');
      const subject = argument.startsWith('.') ? variable(argument) : argument;
      return tag(verb === 'range' ? `for item in ${subject}` : `if ${subject}`);
    }
    if (verb === 'end') return tag(blocks.pop() ?? 'endif');
    return `{{${before} ${expression(verb, rest)} ${after}}}`;
  });
}

function expression(verb: string, rest: readonly string[]): string {
  if (verb.startsWith('.')) return variable(verb);
  if (verb === 'cloudProvider') return 'cloudProvider';
  const [first = '""', ...more] = rest.map((part) => (part.startsWith('.') ? variable(part) : part));
  return `${first} | ${verb}${more.length > 0 ? `: ${more.join(', ')}` : ''}`;
}
