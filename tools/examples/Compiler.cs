// What `dotnet build` makes of one example: Compiler OUT.dll SOURCE.cs

using System;
using System.IO;
using System.Linq;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;

static class Compiler
{
    // Those of <ImplicitUsings> in a project of Microsoft.NET.Sdk.Web.
    static readonly string[] Implicit =
    {
        "System", "System.Collections.Generic", "System.IO", "System.Linq", "System.Net.Http",
        "System.Net.Http.Json", "System.Threading", "System.Threading.Tasks",
        "Microsoft.AspNetCore.Builder", "Microsoft.AspNetCore.Hosting",
        "Microsoft.AspNetCore.Http", "Microsoft.AspNetCore.Routing",
        "Microsoft.Extensions.Configuration", "Microsoft.Extensions.DependencyInjection",
        "Microsoft.Extensions.Hosting", "Microsoft.Extensions.Logging",
    };

    static int Main(string[] arguments)
    {
        var (output, source) = (arguments[0], arguments[1]);
        var usings = string.Concat(Implicit.Select(name => $"global using {name};"));
        var trees = new[] { usings, File.ReadAllText(source) }
            .Select(text => CSharpSyntaxTree.ParseText(text));
        var libraries = ((string)AppContext.GetData("TRUSTED_PLATFORM_ASSEMBLIES"))
            .Split(Path.PathSeparator)
            .Where(path => !path.Contains("CodeAnalysis") && path != typeof(Compiler).Assembly.Location)
            .Select(path => MetadataReference.CreateFromFile(path));
        var options = new CSharpCompilationOptions(
            OutputKind.ConsoleApplication,
            generalDiagnosticOption: ReportDiagnostic.Error,
            nullableContextOptions: NullableContextOptions.Enable);
        var name = Path.GetFileNameWithoutExtension(output);
        var result = CSharpCompilation.Create(name, trees, libraries, options).Emit(output);
        foreach (var diagnostic in result.Diagnostics.Where(one => one.Severity > DiagnosticSeverity.Info))
        {
            Console.Error.WriteLine(diagnostic);
        }
        return result.Success ? 0 : 1;
    }
}
