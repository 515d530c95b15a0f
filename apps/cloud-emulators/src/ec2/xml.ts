export type Content = string | number | boolean | readonly Element[];
export type Element = readonly [name: string, content: Content];

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const render = (elements: readonly Element[]): string =>
  elements
    .map(
      ([name, content]) =>
        `<${name}>${typeof content === 'object' ? render(content) : escaped(String(content))}</${name}>`,
    )
    .join('');

/** Creates an XML element for each member of an object, except for members that are undefined or null. */
export const elements = (members: Readonly<Record<string, Content | null | undefined>>): readonly Element[] =>
  Object.entries(members).flatMap(([name, content]) =>
    content === undefined || content === null ? [] : [[name, content]],
  );

export const items = <T>(all: readonly T[], one: (each: T) => readonly Element[]): readonly Element[] =>
  all.map((each) => ['item', one(each)]);

const HEAD = '<?xml version="1.0" encoding="UTF-8"?>';

export const answerXml = (action: string, requestId: string, body: readonly Element[]): string =>
  `${HEAD}<${action}Response xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">${render([['requestId', requestId], ...body])}</${action}Response>`;

export const errorXml = (requestId: string, code: string, message: string): string =>
  `${HEAD}<Response><Errors>${render([
    [
      'Error',
      [
        ['Code', code],
        ['Message', message],
      ],
    ],
  ])}</Errors>${render([['RequestID', requestId]])}</Response>`;

const STS = 'xmlns="https://sts.amazonaws.com/doc/2011-06-15/"';

export const stsErrorXml = (requestId: string, code: string, message: string): string =>
  `<ErrorResponse ${STS}>${render([
    [
      'Error',
      [
        ['Type', 'Sender'],
        ['Code', code],
        ['Message', message],
      ],
    ],
    ['RequestId', requestId],
  ])}</ErrorResponse>`;

export const stsXml = (action: string, requestId: string, result: readonly Element[]): string =>
  `<${action}Response ${STS}>${render([
    [`${action}Result`, result],
    ['ResponseMetadata', [['RequestId', requestId]]],
  ])}</${action}Response>`;
